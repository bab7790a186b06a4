// One statement through libpg_query, with what it needs around it: a large stack, a limit on size, a lifetime for the tree,
// errors in bytes, and three attempts (as written; with placeholders and integers rewritten; token by token).
#include "sql/pg_parse.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "model/lock_function.h"
#include "sql/lower_tree.h"

namespace pglocklint::sql {
namespace {

constexpr std::size_t kMaxTokens = 250'000;
constexpr std::uint32_t kMaxChain = 20'000;      // links that nest: where trees are packed, that is quadratic in them
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

// # Seeing the tree before it is packed
//
// libpg_query makes messages of its nodes, packs them into bytes and hands out the bytes, of which its caller makes the same messages
// again. Packing and unpacking is more work than the parse itself. So the linker calls us in place of the two functions that pack
// (--wrap, see CMakeLists.txt), with the messages at hand; they live until we return. A libpg_query that is linked as a shared library does
// not come by here: its bytes are unpacked.
class TreeReader {
 public:
  using Use = std::function<void(const PgQuery__ParseResult&)>;
  explicit TreeReader(const Use& use) : use_(use), outer_(std::exchange(current_, this)) {}
  ~TreeReader() { current_ = outer_; }
  TreeReader(const TreeReader&) = delete;
  TreeReader& operator=(const TreeReader&) = delete;

  static TreeReader* current() { return current_; }  // of this thread
  // After an error there are no statements in it. Throws nothing: there is C between us and those who could catch.
  void see(const PgQuery__ParseResult& tree) noexcept {
    seen_ = true;
    try {
      if (tree.n_stmts > 0) use_(tree);
    } catch (...) {
      thrown_ = std::current_exception();
    }
  }
  bool seen() const { return seen_; }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  static thread_local TreeReader* current_;
  const Use& use_;
  TreeReader* outer_;
  bool seen_ = false;
  std::exception_ptr thrown_;
};
thread_local TreeReader* TreeReader::current_ = nullptr;

struct ParseError {
  std::string message;  // empty: none
  std::uint32_t offset = 0;
};

std::uint32_t byteOfCharacter(std::string_view text, int character) {  // from 1
  std::uint32_t byte = 0;
  for (; byte < text.size(); ++byte)
    if ((static_cast<unsigned char>(text[byte]) & 0xC0) != 0x80 && --character <= 0) break;
  return byte;
}

// Calls `use` with the tree of a text that has statements and no error.
ParseError parse(const std::string& text, const TreeReader::Use& use) {
  TreeReader reader(use);
  PgQueryProtobufParseResult result = [&] {
    const StderrGuard guard;
    return pg_query_parse_protobuf(text.c_str());
  }();
  ParseError error;
  if (result.error) {
    error = {fmt::format("PostgreSQL {} grammar: {}", grammarVersion(), result.error->message), byteOfCharacter(text, result.error->cursorpos)};
  } else if (!reader.seen()) {
    PgQuery__ParseResult* tree =
        pg_query__parse_result__unpack(nullptr, result.parse_tree.len, reinterpret_cast<const std::uint8_t*>(result.parse_tree.data));
    if (tree) reader.see(*tree);
    else error.message = "the parse tree could not be read";
    if (tree) pg_query__parse_result__free_unpacked(tree, nullptr);
  }
  pg_query_free_protobuf_parse_result(result);
  reader.rethrow();
  return error;
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
  ParseError error;
};
using UseAttempt = std::function<void(const Attempt&, const PgQuery__ParseResult&)>;

// True: it went well.
bool parse(Attempt& a, const UseAttempt& use) {
  a.error = parse(a.text, [&](const PgQuery__ParseResult& tree) { use(a, tree); });
  return a.error.message.empty();
}

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

// As written, then rewritten (the other way round where placeholders look like operators). `use` gets the attempt that succeeded, with its
// tree; returned is that one, or the first one with its error.
std::unique_ptr<Attempt> attempt(std::string written, const UseAttempt& use) {
  auto first = std::make_unique<Attempt>(std::move(written));
  const std::string& text = first->text;
  if (text.find('\0') != std::string::npos) {
    first->error = {"NUL byte in the statement", static_cast<std::uint32_t>(text.find('\0'))};
    return first;
  }
  if (tooLarge(first->tokens, first->error.message)) return first;
  const bool rewrite_first = hasNamedParameter(text);
  if (!rewrite_first) {
    listTemplates(*first);
    if (parse(*first, use)) return first;
    first->placeholders.clear();
  }
  std::vector<RewrittenPlaceholder> placeholders;
  std::string rewritten = rewritePlaceholders(text, true, placeholders);
  if (rewritten.size() != text.size() || rewritten == text) {
    if (rewrite_first) parse(*first, use);
    return first;
  }
  auto second = std::make_unique<Attempt>(std::move(rewritten));
  second->placeholders = std::move(placeholders);
  std::ranges::sort(second->placeholders, {}, &RewrittenPlaceholder::begin);
  std::string error;
  if (tooLarge(second->tokens, error)) return first;
  if (parse(*second, use)) return second;
  if (rewrite_first) parse(*first, use);
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

extern "C" {
std::size_t __real_pg_query__parse_result__get_packed_size(const PgQuery__ParseResult* tree);
std::size_t __real_pg_query__parse_result__pack(const PgQuery__ParseResult* tree, std::uint8_t* out);

std::size_t __wrap_pg_query__parse_result__get_packed_size(const PgQuery__ParseResult* tree) {
  TreeReader* const reader = TreeReader::current();
  if (!reader) return __real_pg_query__parse_result__get_packed_size(tree);
  reader->see(*tree);
  return 0;
}

std::size_t __wrap_pg_query__parse_result__pack(const PgQuery__ParseResult* tree, std::uint8_t* out) {
  return TreeReader::current() ? 0 : __real_pg_query__parse_result__pack(tree, out);
}
}

int grammarVersion() { return PG_VERSION_NUM / 10000; }

ParsedStatement parseStatement(const MappedText& text, const LineIndex& lines) {
  ParsedStatement out;
  runSafely(text.text(), [&] {
    const auto a = attempt(text.text(), [&](const Attempt& good, const PgQuery__ParseResult& tree) {
      out = lowered({text, 0, good.text, lines, good.tokens, good.placeholders}, tree);
    });
    if (!a->error.message.empty()) out = degraded(text, lines, a->tokens, a->error.message, a->error.offset);
  });
  return out;
}

std::optional<Query> parseExpression(const MappedText& text, const LineIndex& lines, std::string& error) {
  std::optional<Query> query;
  runSafely(text.text(), [&] {
    constexpr std::string_view kSelect = "SELECT ";
    bool select = false;
    const auto a = attempt(std::string(kSelect) + text.text(), [&](const Attempt& good, const PgQuery__ParseResult& tree) {
      select = tree.n_stmts == 1 && tree.stmts[0]->stmt->node_case == PG_QUERY__NODE__NODE_SELECT_STMT;
      if (!select) return;
      ParsedStatement parsed = lowered({text, kSelect.size(), good.text, lines, good.tokens, good.placeholders}, tree);
      if (parsed.events.size() == 1 && !parsed.events[0].statement.empty() && !parsed.events[0].statement[0].query.empty())
        query = std::move(parsed.events[0].statement[0].query[0]);
    });
    if (!a->error.message.empty()) error = a->error.message;
    else if (!select) error = fmt::format("PostgreSQL {} grammar: not an expression", grammarVersion());
    else if (!query) error = "not an expression";
    else if (!text.text().empty())
      query->range = lines.range(text.toFile(0), text.toFile(static_cast<std::uint32_t>(text.text().size()) - 1) + 1);
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
