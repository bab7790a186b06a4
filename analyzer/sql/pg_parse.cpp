// One statement through libpg_query, with what it needs around it: a large stack, a limit on size, a lifetime for the tree,
// errors in bytes, and three attempts (as written; with placeholders and integers rewritten; token by token).
#include "sql/pg_parse.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>

#include "model/lock_function.h"
#include "sql/lower_tree.h"

namespace pglocklint::sql {
namespace {

constexpr std::size_t kMaxTokens = 250'000;
constexpr std::uint32_t kMaxChain = 20'000;      // links that nest: writing the tree out is quadratic in them
constexpr std::int32_t kSmallStatement = 4'000;  // tokens that fit on any stack, however they nest
constexpr std::size_t kLargeStack = 512u << 20;

// libpg_query points the process's file descriptor 2 at a pipe while it parses, and back afterwards. Two threads that overlap can
// leave it at a pipe that nobody reads, so the last one to finish an overlap puts the real one back.
class StderrGuard {
 public:
  StderrGuard() {
    const std::lock_guard lock(state().mutex);
    if (state().real < 0) state().real = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    state().overlapped |= state().running++ > 0;
  }
  ~StderrGuard() {
    const std::lock_guard lock(state().mutex);
    if (--state().running > 0 || !state().overlapped) return;
    state().overlapped = false;
    if (state().real >= 0) dup2(state().real, STDERR_FILENO);
  }
  StderrGuard(const StderrGuard&) = delete;
  StderrGuard& operator=(const StderrGuard&) = delete;

 private:
  struct State {  // of the process, as the descriptor is
    std::mutex mutex;
    int real = -1, running = 0;
    bool overlapped = false;
  };
  static State& state() {
    static State s;
    return s;
  }
};

// The memory of one unpacked tree. Its nodes are many and small and die together: taking them one by one from the heap, and
// walking the tree to give them back, costs as much as unpacking it.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ProtobufCAllocator* allocator() { return &allocator_; }

 private:
  static void* take(void* arena, std::size_t size) { return static_cast<Arena*>(arena)->take(size); }
  static void giveBack(void*, void*) {}
  void* take(std::size_t size) {
    constexpr std::size_t kAlignment = alignof(std::max_align_t);
    size = (size + kAlignment - 1) / kAlignment * kAlignment;
    if (size > left_) {
      left_ = std::max(size, next_chunk_);
      next_chunk_ = std::min<std::size_t>(next_chunk_ * 2, 1u << 20);
      chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(left_));
      free_ = chunks_.back().get();
    }
    std::byte* block = free_;
    free_ += size, left_ -= size;
    return block;
  }

  ProtobufCAllocator allocator_{take, giveBack, this};
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::byte* free_ = nullptr;
  std::size_t left_ = 0, next_chunk_ = 16u << 10;
};

struct Parsed {
  std::unique_ptr<Arena> memory;
  const PgQuery__ParseResult* tree = nullptr;  // in `memory`
  std::string error;
  std::uint32_t error_offset = 0;
};

std::uint32_t byteOfCharacter(std::string_view text, int character) {  // from 1
  std::uint32_t byte = 0;
  for (; byte < text.size(); ++byte)
    if ((static_cast<unsigned char>(text[byte]) & 0xC0) != 0x80 && --character <= 0) break;
  return byte;
}

Parsed parse(const std::string& text) {
  Parsed parsed;
  PgQueryProtobufParseResult result = [&] {
    const StderrGuard guard;
    return pg_query_parse_protobuf(text.c_str());
  }();
  if (result.error) {
    parsed.error = fmt::format("PostgreSQL {} grammar: {}", grammarVersion(), result.error->message);
    parsed.error_offset = byteOfCharacter(text, result.error->cursorpos);
  } else {
    parsed.memory = std::make_unique<Arena>();
    parsed.tree = pg_query__parse_result__unpack(parsed.memory->allocator(), result.parse_tree.len,
                                                 reinterpret_cast<const std::uint8_t*>(result.parse_tree.data));
    if (!parsed.tree) parsed.error = "the parse tree could not be read";
  }
  pg_query_free_protobuf_parse_result(result);
  return parsed;
}

// Word tokens that name a lock function and open a bracket.
std::vector<Span> lockMentions(const TokenIndex& tokens) {
  std::vector<Span> calls;
  for (std::int32_t i = 0; i < tokens.size(); ++i) {
    if (!tokens.isName(i) || !tokens.isText(i + 1, "(") || !findLockFunction(foldIdentifier(tokens.text(i)))) continue;
    Span call{i, std::max(i + 1, tokens.match(i + 1))};
    if (tokens.isText(i - 1, ".") && tokens.isName(i - 2)) {
      if (foldIdentifier(tokens.text(i - 2)) != "pg_catalog") continue;
      call.first = i - 2;
    }
    calls.push_back(call);
  }
  return calls;
}

bool callsLockFunction(const PgQuery__ParseResult& tree) {
  bool found = false;
  forEachMessage(tree.base, [&](const ProtobufCMessage& m) {
    if (m.descriptor == &pg_query__func_call__descriptor) found |= isLockCall(reinterpret_cast<const PgQuery__FuncCall&>(m));
    return !found;
  });
  return found;
}

ParsedStatement lowered(const StatementText& text, const PgQuery__ParseResult& tree) {
  ParsedStatement out;
  Lowering lowering(text);
  const Span whole = text.tokens.whole();
  for (std::size_t i = 0; i < tree.n_stmts; ++i) {
    Span region = whole;
    if (tree.n_stmts > 1) {  // the caller's splitter left a semicolon inside
      const auto begin = static_cast<std::uint32_t>(tree.stmts[i]->stmt_location);
      const std::uint32_t end =
          tree.stmts[i]->stmt_len ? begin + static_cast<std::uint32_t>(tree.stmts[i]->stmt_len) : UINT32_MAX;
      while (region.known() && text.tokens[region.first].begin < begin) ++region.first;
      while (region.known() && text.tokens[region.last].end > end) --region.last;
    }
    lowering.statement(tree.stmts[i]->stmt, region, out);
  }
  out.has_locks = !lockMentions(text.tokens).empty() && callsLockFunction(tree);
  numberCalls(out);
  return out;
}

bool tooLarge(const TokenIndex& tokens, std::string& error) {
  if (tokens.overLimit())
    error = fmt::format("statement of more than {} tokens", kMaxTokens);
  else if (tokens.size() > kSmallStatement && tokens.longestChain() > kMaxChain)
    error = fmt::format("chain of more than {} operators", kMaxChain);
  return !error.empty();
}

// The last attempt: the lock calls that the tokens show, each parsed alone.
ParsedStatement degraded(const MappedText& text, const LineIndex& lines, const TokenIndex& tokens, std::string error,
                         std::uint32_t offset) {
  ParsedStatement out;
  out.error = std::move(error), out.error_offset = offset;
  const auto mentions = lockMentions(tokens);
  if (mentions.empty()) return out;
  out.has_locks = true;
  Statement s;
  s.kind = StatementKind::NotUnderstood;
  const Span whole = tokens.whole();
  const auto rangeOf = [&](Span span) {
    return lines.range(text.toFile(tokens[span.first].begin), text.toFile(tokens[span.last].end - 1) + 1);
  };
  s.range = rangeOf(whole);
  if (tokens.isName(whole.first)) s.head = std::string(tokens.text(whole.first));
  std::ranges::transform(s.head, s.head.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  for (const Span mention : mentions) {
    const Span span{mention.first, std::min(mention.last, whole.last)};
    const std::uint32_t begin = tokens[span.first].begin, end = tokens[span.last].end;
    std::string ignored;
    auto query =
        end - begin < text.text().size() ? parseExpression(text.substr(begin, end - begin), lines, ignored) : std::nullopt;
    if (query && query->targets.size() == 1 && query->targets[0].expr.is(ExprKind::Call)) {
      s.exprs.push_back(std::move(query->targets[0].expr));
    } else {
      Expr& call = s.exprs.emplace_back();
      call.kind = ExprKind::Call;
      const bool qualified = tokens.isText(span.first + 1, ".");
      call.name = foldIdentifier(tokens.text(qualified ? span.first + 2 : span.first));
      if (qualified) call.qualifier = "pg_catalog";
      call.range = rangeOf(span);
      call.args.emplace_back().text = "not understood";
    }
    s.exprs.back().call_id = static_cast<std::int32_t>(s.exprs.size()) - 1;
  }
  out.events.emplace_back(std::move(s));
  return out;
}

// Tokens look into `text`: an attempt stays where it was made.
struct Attempt {
  explicit Attempt(std::string parsed_text) : text(std::move(parsed_text)), tokens(text, kMaxTokens) {}
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  std::string text;  // what the parser saw
  TokenIndex tokens;
  std::vector<RewrittenPlaceholder> placeholders;
  Parsed parsed;
};

// "@name" is sqlc's parameter; PostgreSQL would read the prefix operator @ (absolute value), which people write with a space if
// at all.
bool hasNamedParameter(std::string_view text) {
  for (std::size_t at = text.find('@'); at != std::string_view::npos; at = text.find('@', at + 1))
    if (at + 1 < text.size() && (text[at + 1] == '_' || std::isalpha(static_cast<unsigned char>(text[at + 1])))) return true;
  return false;
}

// A template that stands in string literals only does not disturb the parser: it is still no constant.
void listTemplates(Attempt& a) {
  if (a.text.find("${") == std::string::npos && a.text.find("{{") == std::string::npos) return;
  std::vector<RewrittenPlaceholder> found;
  rewritePlaceholders(a.text, true, found);
  std::ranges::sort(found, {}, &RewrittenPlaceholder::begin);
  std::int32_t i = 0;
  for (RewrittenPlaceholder& p : found) {
    while (i < a.tokens.size() && a.tokens[i].end <= p.begin) ++i;
    const bool in_string = i < a.tokens.size() && a.tokens[i].begin < p.begin &&
                           (a.tokens[i].kind == TokenKind::String || a.tokens[i].kind == TokenKind::EscapeString);
    if (in_string && (p.written.starts_with("${") || p.written.starts_with("{{"))) a.placeholders.push_back(std::move(p));
  }
}

// As written, then rewritten (the other way round where placeholders look like operators). Returns the attempt that succeeded or
// the first one with its error.
std::unique_ptr<Attempt> attempt(std::string written) {
  auto first = std::make_unique<Attempt>(std::move(written));
  const std::string& text = first->text;
  if (text.find('\0') != std::string::npos) {
    first->parsed.error = "NUL byte in the statement";
    first->parsed.error_offset = static_cast<std::uint32_t>(text.find('\0'));
    return first;
  }
  if (tooLarge(first->tokens, first->parsed.error)) return first;
  const bool rewrite_first = hasNamedParameter(text);
  if (!rewrite_first) {
    first->parsed = parse(text);
    if (first->parsed.tree) {
      listTemplates(*first);
      return first;
    }
  }
  std::vector<RewrittenPlaceholder> placeholders;
  std::string rewritten = rewritePlaceholders(text, true, placeholders);
  if (rewritten.size() != text.size() || rewritten == text) {
    if (rewrite_first) first->parsed = parse(text);
    return first;
  }
  auto second = std::make_unique<Attempt>(std::move(rewritten));
  second->placeholders = std::move(placeholders);
  std::ranges::sort(second->placeholders, {}, &RewrittenPlaceholder::begin);
  std::string error;
  if (tooLarge(second->tokens, error)) return first;
  second->parsed = parse(second->text);
  if (second->parsed.tree) return second;
  if (rewrite_first) first->parsed = parse(text);
  return first;
}

bool onLargeStack() {
  pthread_attr_t attributes;
  void* address = nullptr;
  std::size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
  pthread_attr_getstack(&attributes, &address, &size);
  pthread_attr_destroy(&attributes);
  return size >= kLargeStack / 2;
}

// Runs f here, or on a large stack where the text may nest deeper than this thread's can bear.
template <class F>
void runSafely(std::string_view text, F f) {
  if (text.size() < static_cast<std::size_t>(kSmallStatement) || onLargeStack())
    f();
  else
    runOnLargeStack([](void* p) { (*static_cast<F*>(p))(); }, &f);
}

}  // namespace

int grammarVersion() { return PG_VERSION_NUM / 10000; }

ParsedStatement parseStatement(const MappedText& text, const LineIndex& lines) {
  ParsedStatement out;
  runSafely(text.text(), [&] {
    const auto a = attempt(text.text());
    if (!a->parsed.tree)
      out = degraded(text, lines, a->tokens, a->parsed.error, a->parsed.error_offset);
    else
      out = lowered({text, 0, a->text, lines, a->tokens, a->placeholders}, *a->parsed.tree);
  });
  return out;
}

std::optional<Query> parseExpression(const MappedText& text, const LineIndex& lines, std::string& error) {
  std::optional<Query> query;
  runSafely(text.text(), [&] {
    constexpr std::string_view kSelect = "SELECT ";
    const auto a = attempt(std::string(kSelect) + text.text());
    if (!a->parsed.tree) {
      error = a->parsed.error;
      return;
    }
    const auto& tree = *a->parsed.tree;
    if (tree.n_stmts != 1 || tree.stmts[0]->stmt->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
      error = fmt::format("PostgreSQL {} grammar: not an expression", grammarVersion());
      return;
    }
    ParsedStatement parsed = lowered({text, kSelect.size(), a->text, lines, a->tokens, a->placeholders}, tree);
    if (parsed.events.size() == 1 && !parsed.events[0].statement.empty() && !parsed.events[0].statement[0].query.empty()) {
      query = std::move(parsed.events[0].statement[0].query[0]);
      if (!text.text().empty())
        query->range = lines.range(text.toFile(0), text.toFile(static_cast<std::uint32_t>(text.text().size()) - 1) + 1);
    } else {
      error = "not an expression";
    }
  });
  return query;
}

void runOnLargeStack(void (*f)(void*), void* argument) {
  struct Job {
    void (*f)(void*);
    void* argument;
  } job{f, argument};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kLargeStack);
  pthread_t thread;
  const auto body = [](void* p) -> void* {
    const Job& j = *static_cast<Job*>(p);
    j.f(j.argument);
    return nullptr;
  };
  if (pthread_create(&thread, &attributes, body, &job) == 0)
    pthread_join(thread, nullptr);
  else
    f(argument);  // no memory for a stack: an ordinary statement still fits on this one
  pthread_attr_destroy(&attributes);
}

}  // namespace pglocklint::sql
