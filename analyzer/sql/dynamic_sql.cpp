#include "sql/dynamic_sql.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "model/lock_function.h"
#include "sql/pg_parse.h"
#include "sql/plpgsql.h"

namespace pglocklint::sql {

namespace {

// Limits on what variables that hold each other can expand to.
constexpr int kMaxDepth = 200;
constexpr int kMaxSteps = 5000;

// --- from the expression to pieces ----------------------------------------------------------------------------------

struct Piece {
  bool hole = false;
  MappedText text;              // not a hole
  HoleKind kind = HoleKind::Raw;
  TokenSpan argument;           // hole; empty: nothing is known about it
};

// One conversion of a format() string (manual 9.4.1): %[position][flags][width]type.
struct Conversion {
  std::size_t length = 0;  // 0: malformed
  std::size_t position = 0;  // 0: the next argument
  char type = 0;
};

Conversion readConversion(std::string_view text) {
  std::size_t i = 1;
  Conversion conversion;
  std::size_t number = 0, digits = i;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && digits < 6)
    number = number * 10 + static_cast<std::size_t>(text[digits++] - '0');
  if (digits < text.size() && text[digits] == '$' && number > 0) conversion.position = number, i = digits + 1;
  while (i < text.size() && (text[i] == '-' || (text[i] >= '0' && text[i] <= '9'))) ++i;
  if (i >= text.size()) return conversion;
  conversion.type = text[i];
  const bool known = conversion.type == 's' || conversion.type == 'I' || conversion.type == 'L' || conversion.type == '%';
  if (known) conversion.length = i + 1;  // a width taken from an argument (*) is too rare to follow
  return conversion;
}

class TextReader {
 public:
  TextReader(const BodyTokens& tokens, const HeldBy& held) : t_(tokens), held_(held) {}
  std::vector<Piece> read(TokenSpan expression, EventPlace place) {
    place_ = place;
    readPart(expression, 0);
    return std::move(pieces_);
  }

 private:
  void text(MappedText piece) { pieces_.push_back({.hole = false, .text = std::move(piece)}); }
  void hole(HoleKind kind, TokenSpan argument) {
    pieces_.push_back({.hole = true, .text = {}, .kind = kind, .argument = argument});
  }

  TokenSpan withoutBrackets(TokenSpan span) const {
    while (t_.punctuation(span.first, '(') && t_.closing(span.first) + 1 == span.last) ++span.first, --span.last;
    return span;
  }

  // The operands of || outside of brackets and of CASE … END.
  std::vector<TokenSpan> operands(TokenSpan span) const {
    std::vector<TokenSpan> parts;
    int depth = 0;
    std::size_t first = span.first;
    for (std::size_t i = span.first; i < span.last; ++i) {
      if (t_.punctuation(i, '(') || t_.punctuation(i, '[') || t_.word(i, "case")) ++depth;
      if (t_.punctuation(i, ')') || t_.punctuation(i, ']') || t_.word(i, "end")) --depth;
      if (depth != 0 || !t_.oper(i, "||")) continue;
      parts.push_back({first, i});
      first = i + 1;
    }
    parts.push_back({first, span.last});
    return parts;
  }

  void readPart(TokenSpan span, int depth) {
    if (++steps_ > kMaxSteps || depth > kMaxDepth) return hole(HoleKind::Raw, {});
    span = withoutBrackets(span);
    const std::vector<TokenSpan> parts = operands(span);
    if (parts.size() > 1) {
      for (const TokenSpan& part : parts) readPart(part, depth + 1);
      return;
    }
    const TokenSpan core = withoutBrackets({span.first, t_.findOperator(span.first, span.last, "::")});
    if (isLiteral(core)) {
      for (std::size_t i = core.first; i < core.last; ++i) text(t_.decodedString(i));
    } else if (core.last == core.first + 1 && t_.kind(core.first) == TokenKind::Number) {
      text(t_.slice(core));
    } else if (!readVariable(core, depth) && !readCall(core, depth)) {
      hole(HoleKind::Raw, span);
    }
  }

  bool isLiteral(TokenSpan span) const {
    for (std::size_t i = span.first; i < span.last; ++i)
      if (!t_.string(i)) return false;
    return !span.empty();
  }

  // A variable is what was assigned to it, if that is text; a mere value stays the variable.
  bool readVariable(TokenSpan span, int depth) {
    if (span.last != span.first + 1 || !t_.name(span.first)) return false;
    const std::optional<HeldValue> value = held_(t_.folded(span.first), place_);
    if (!value) return false;
    const std::size_t before = pieces_.size();
    const EventPlace outer = std::exchange(place_, value->place);
    readPart(value->expression, depth + 1);
    place_ = outer;
    if (!std::all_of(pieces_.begin() + static_cast<std::ptrdiff_t>(before), pieces_.end(), [](const Piece& p) { return p.hole; }))
      return true;
    pieces_.resize(before);
    return false;
  }

  // The functions that build SQL text.
  bool readCall(TokenSpan span, int depth) {
    std::size_t open = span.first + 1;
    if (t_.punctuation(open, '.')) open += 2;  // pg_catalog.
    if (!t_.name(open - 1) || !t_.punctuation(open, '(') || t_.closing(open) + 1 != span.last) return false;
    const std::string name = t_.folded(open - 1);
    const TokenSpan inside{open + 1, span.last - 1};
    const std::vector<TokenSpan> arguments = t_.splitAtCommas(inside);
    if (name == "format" && !arguments.empty()) return readFormat(arguments, depth);
    if ((name == "quote_literal" || name == "quote_nullable") && arguments.size() == 1) {
      hole(HoleKind::Literal, arguments[0]);
    } else if (name == "quote_ident" && arguments.size() == 1) {
      identifier(arguments[0], depth);
    } else if (name == "concat") {
      for (const TokenSpan& argument : arguments) readPart(argument, depth + 1);
    } else {
      return false;
    }
    return true;
  }

  std::vector<Piece> piecesOf(TokenSpan expression, int depth) {
    std::vector<Piece> outer = std::exchange(pieces_, {});
    readPart(expression, depth + 1);
    return std::exchange(pieces_, std::move(outer));
  }

  void identifier(TokenSpan argument, int depth) {
    const std::vector<Piece> pieces = piecesOf(argument, depth);
    if (pieces.empty() || std::ranges::any_of(pieces, &Piece::hole)) return hole(HoleKind::Identifier, argument);
    const std::uint32_t place = pieces[0].text.toFile(0);
    MappedText quoted;
    quoted.append("\"", place);
    for (const Piece& piece : pieces) appendMapped(quoted, piece.text);
    quoted.append("\"", place);
    text(std::move(quoted));
  }

  bool readFormat(const std::vector<TokenSpan>& arguments, int depth) {
    const bool variadic = std::ranges::any_of(arguments, [&](const TokenSpan& a) { return t_.word(a.first, "variadic"); });
    const std::vector<Piece> pattern = piecesOf(arguments[0], depth);
    if (std::ranges::all_of(pattern, &Piece::hole)) return false;
    std::size_t next = 1;
    for (const Piece& piece : pattern) {
      if (piece.hole)
        pieces_.push_back(piece);
      else if (!readPattern(piece.text, variadic ? std::vector<TokenSpan>{} : arguments, next, depth))
        return hole(HoleKind::Raw, {}), true;  // the rest is anyone's guess
    }
    return true;
  }

  bool readPattern(const MappedText& pattern, const std::vector<TokenSpan>& arguments, std::size_t& next, int depth) {
    const std::string& bytes = pattern.text();
    for (std::size_t i = 0; i < bytes.size();) {
      const std::size_t percent = std::min(bytes.find('%', i), bytes.size());
      if (percent > i) text(pattern.substr(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(percent - i)));
      if (percent == bytes.size()) break;
      const Conversion conversion = readConversion(std::string_view(bytes).substr(percent));
      if (conversion.length == 0) return false;
      i = percent + conversion.length;
      if (conversion.type == '%') {
        text(pattern.substr(static_cast<std::uint32_t>(percent), 1));
        continue;
      }
      if (conversion.position != 0) next = conversion.position;
      const std::size_t number = next++;
      fill(conversion.type, number < arguments.size() ? arguments[number] : TokenSpan{}, depth);
    }
    return true;
  }

  void fill(char type, TokenSpan argument, int depth) {
    if (argument.empty()) return hole(type == 'I' ? HoleKind::Identifier : type == 'L' ? HoleKind::Literal : HoleKind::Raw, {});
    if (type == 'L') return hole(HoleKind::Literal, argument);
    if (type == 'I') return identifier(argument, depth);
    readPart(argument, depth + 1);
  }

  const BodyTokens& t_;
  const HeldBy& held_;
  EventPlace place_;  // where the expression that is being read is evaluated
  int steps_ = 0;
  std::vector<Piece> pieces_;
};

// --- markers: how a hole stands in the text ---------------------------------------------------------------------------

constexpr std::string_view kMarkerStart = "pgl0hole";

std::string holeMarker(std::size_t number) { return fmt::format("{}{}z", kMarkerStart, number); }

struct FoundMarker {
  std::size_t begin = std::string::npos, end = std::string::npos, number = 0;
  bool found() const { return begin != std::string::npos; }
};

FoundMarker findMarker(std::string_view text, std::size_t from, std::size_t holes) {
  for (std::size_t at = text.find(kMarkerStart, from); at != std::string_view::npos; at = text.find(kMarkerStart, at + 1)) {
    std::size_t i = at + kMarkerStart.size(), number = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9' && number < holes; ++i)
      number = number * 10 + static_cast<std::size_t>(text[i] - '0');
    if (i < text.size() && text[i] == 'z' && number < holes) return {at, i + 1, number};
  }
  return {};
}

// --- from the parsed text to what it means ----------------------------------------------------------------------------

struct AnyVisitor {
  template <class T>
  void operator()(const char*, T&) {}
};
template <class T>
concept Described = requires(T& t, AnyVisitor& v) { T::describe(t, v); };

// Calls f(Expr&) for every expression below a struct of the model; f returns whether to go on inside of it.
template <class F>
class ExprWalk {
 public:
  explicit ExprWalk(F f) : f_(std::move(f)) {}
  template <class T>
  void operator()(const char*, T& member) {
    visit(member);
  }
  template <class T>
  void visit(List<T>& values) {
    for (T& value : values) visit(value);
  }
  template <class T>
  void visit(Rare<T>& value) {
    if (value.stored()) visit(value.edit());
  }
  template <class T>
  void visit(const List<T>& values) {
    for (const T& value : values) visit(value);
  }
  template <class T>
  void visit(const Rare<T>& value) {
    if (value.stored()) visit(*value);
  }
  template <class T>
  void visit(T& value) {
    using Plain = std::remove_const_t<T>;
    if constexpr (std::is_same_v<Plain, Expr>) {
      if (f_(value)) Expr::describe(value, *this);
    } else if constexpr (Described<Plain>) {
      Plain::describe(value, *this);
    }
  }

 private:
  F f_;
};

bool substitutable(const List<Expr>& argument) { return !argument.empty() && !callsLock(argument[0]); }

// Puts the arguments of holes and of USING where the text has a marker or $n.
class HoleFiller {
 public:
  HoleFiller(const std::vector<DynamicHole>& holes, const List<Expr>& using_args, std::int32_t next_call)
      : holes_(holes), using_(using_args), next_call_(next_call) {}

  template <class T>
  void operator()(const char*, T& member) {
    visit(member);
  }
  // Whether something is still unknown afterwards.
  bool leftHoles() const { return left_; }

  void visit(std::string& text) {
    for (FoundMarker m = findMarker(text, 0, holes_.size()); m.found(); m = findMarker(text, m.begin, holes_.size()))
      text.replace(m.begin, m.end - m.begin, holeName(m.number)), left_ = true;
  }
  void visit(RareText& text) {
    if (text.empty()) return;
    std::string filled = text.str();
    visit(filled);
    text = std::move(filled);
  }
  void visit(Expr& e) {
    if (e.kind == ExprKind::Param) return fillParam(e);
    if (e.kind == ExprKind::Const && e.literal == LiteralKind::String) return fillString(e);
    if (e.kind == ExprKind::Column && e.qualifier.empty() && fillColumn(e)) return;
    const bool outer = in_call_;
    if (e.kind == ExprKind::Call) in_call_ = true;
    Expr::describe(e, *this);
    in_call_ = outer;
  }
  void visit(Query& q) {
    const bool outer = std::exchange(in_call_, false);
    Query::describe(q, *this);
    in_call_ = outer;
  }
  template <class T>
  void visit(List<T>& values) {
    for (T& value : values) visit(value);
  }
  template <class T>
  void visit(Rare<T>& value) {
    if (value.stored()) visit(value.edit());
  }
  template <class T>
  void visit(T& value) {
    if constexpr (Described<T>) T::describe(value, *this);
  }

 private:
  static std::string holeName(std::size_t number) { return fmt::format("%{}", number + 1); }

  void put(Expr& e, const Expr& argument) {
    e = argument;
    ExprWalk walk([this](Expr& inner) {
      if (inner.kind == ExprKind::Call) inner.call_id = next_call_++;
      return true;
    });
    walk.visit(e);
  }

  // What was put into the text as text is a literal there, whatever type it had before.
  void putText(Expr& e, const Expr& argument) {
    put(e, argument);
    if (e.kind == ExprKind::Const) return;
    Expr literal;
    literal.kind = ExprKind::Cast, literal.type = "unknown", literal.range = e.range;
    literal.args.push_back(std::move(e));
    e = std::move(literal);
  }

  void fillParam(Expr& e) {
    if (e.text.empty() || e.text.size() > 4) return;
    std::size_t number = 0;
    for (const char c : e.text) {
      if (c < '0' || c > '9') return;
      number = number * 10 + static_cast<std::size_t>(c - '0');
    }
    if (number >= 1 && number <= using_.size() && !callsLock(using_[number - 1])) put(e, using_[number - 1]);
  }

  // A hole in a literal: the whole of it, or between other text.
  void fillString(Expr& e) {
    const std::string text = e.text;
    FoundMarker marker = findMarker(text, 0, holes_.size());
    if (!marker.found()) return;
    if (marker.begin == 0 && marker.end == text.size()) {
      if (substitutable(holes_[marker.number].argument)) return putText(e, holes_[marker.number].argument[0]);
      return leave(e, marker.number);
    }
    Expr concat;
    concat.kind = ExprKind::Op, concat.name = "||", concat.range = e.range;
    std::size_t from = 0;
    for (; marker.found(); marker = findMarker(text, from, holes_.size())) {
      addText(concat, e, text.substr(from, marker.begin - from));
      Expr part = e;
      fillWhole(part, marker.number);
      concat.args.push_back(std::move(part));
      from = marker.end;
    }
    addText(concat, e, text.substr(from));
    e = std::move(concat);
  }

  static void addText(Expr& concat, const Expr& like, std::string text) {
    if (text.empty()) return;
    Expr piece = like;
    piece.text = std::move(text);
    concat.args.push_back(std::move(piece));
  }

  void fillWhole(Expr& e, std::size_t number) {
    if (substitutable(holes_[number].argument)) return put(e, holes_[number].argument[0]);
    leave(e, number);
  }

  void leave(Expr& e, std::size_t number) {
    Expr unknown;
    unknown.kind = ExprKind::Param, unknown.range = e.range, unknown.text = holeName(number);
    e = std::move(unknown);
    left_ = true;
  }

  // A bare name where an expression is wanted. As an argument of a call raw text can hardly be anything but a value; elsewhere
  // ("WHERE %s") it may be any condition, and stays unknown.
  bool fillColumn(Expr& e) {
    const FoundMarker marker = findMarker(e.name, 0, holes_.size());
    if (!marker.found() || marker.begin != 0 || marker.end != e.name.size()) return false;
    const DynamicHole& hole = holes_[marker.number];
    if (hole.kind == HoleKind::Identifier) return false;
    if (in_call_ && substitutable(hole.argument))
      putText(e, hole.argument[0]);
    else
      leave(e, marker.number);
    return true;
  }

  const std::vector<DynamicHole>& holes_;
  const List<Expr>& using_;
  std::int32_t next_call_;
  bool in_call_ = false, left_ = false;
};

std::int32_t callsIn(const Statement& statement) {
  std::int32_t next = 0;
  ExprWalk walk([&next](const Expr& e) {
    if (e.kind == ExprKind::Call) next = std::max(next, e.call_id + 1);
    return true;
  });
  walk.visit(statement);
  return next;
}

// A lock call in an argument runs before the statement, once: an event of its own.
Statement argumentStatement(const Expr& argument, const Statement& like) {
  Statement statement;
  statement.kind = StatementKind::Query;
  statement.context = PlContext::Argument;
  statement.head = "EXECUTE";
  statement.range = argument.range;
  statement.loop_depth = like.loop_depth;
  Query query;
  query.range = argument.range;
  query.targets.push_back({argument, "?column?", false});
  statement.query.push_back(std::move(query));
  return statement;
}

// Raw holes that stand alone as spaces: an optional clause that may be missing.
MappedText withoutRawHoles(const MappedText& text, const std::vector<DynamicHole>& holes) {
  MappedText result = text;
  std::string& bytes = result.mutableText();
  for (FoundMarker m = findMarker(bytes, 0, holes.size()); m.found(); m = findMarker(bytes, m.end, holes.size()))
    if (holes[m.number].kind == HoleKind::Raw) bytes.replace(m.begin, m.end - m.begin, m.end - m.begin, ' ');
  return result;
}

// Raw holes of a block that stand where a statement does, and have no end of their own: what they hold is not known.
MappedText withoutUnknownStatements(const MappedText& text, const std::vector<DynamicHole>& holes, const LineIndex& lines) {
  constexpr std::string_view kBefore[] = {"begin", "then", "else", "loop"}, kAfter[] = {"end", "exception", "else", "elsif"};
  MappedText result = text;
  const BodyTokens tokens(text, lines);
  const auto isOne = [&](std::size_t i, const auto& words) { return std::ranges::any_of(words, [&](std::string_view w) { return tokens.word(i, w); }); };
  for (std::size_t i = 1; i < tokens.count(); ++i) {
    const std::string_view word = tokens.text(i);
    const FoundMarker m = tokens.kind(i) == TokenKind::Word ? findMarker(word, 0, holes.size()) : FoundMarker{};
    if (m.begin != 0 || m.end != word.size() || holes[m.number].kind != HoleKind::Raw) continue;
    if ((tokens.punctuation(i - 1, ';') || isOne(i - 1, kBefore)) && isOne(i + 1, kAfter))
      result.mutableText().replace(static_cast<std::size_t>(word.data() - text.text().data()), word.size(), word.size(), ' ');
  }
  return result;
}

class DynamicParser {
 public:
  DynamicParser(const DynamicText& text, const List<Expr>& using_args, const Statement& like, const LineIndex& lines, SentBy by)
      : text_(text), using_(using_args), like_(like), lines_(lines), by_(by) {}

  DynamicResult parse() {
    addArguments(using_);
    for (const DynamicHole& hole : text_.holes) addArguments(hole.argument);
    for (const MappedText& statement : splitStatements(text_.text)) parseOne(statement);
    return std::move(result_);
  }

 private:
  void addArguments(const List<Expr>& arguments) {
    for (const Expr& argument : arguments)
      if (callsLock(argument)) result_.events.push_back(argumentStatement(argument, like_));
  }

  void parseOne(const MappedText& text) {
    const bool has_holes = findMarker(text.text(), 0, text_.holes.size()).found();
    ParsedStatement parsed = parseStatement(text, lines_);
    bool omitted = false;
    if (!parsed.error.empty() && has_holes) {
      ParsedStatement again = parseStatement(withoutRawHoles(text, text_.holes), lines_);
      omitted = again.error.empty();
      if (omitted) parsed = std::move(again);
    }
    const BodyTokens tokens(text, lines_);
    const bool mentions_lock = tokens.mentionsLockInStrings(tokens.all());
    if (!parsed.error.empty()) {
      const std::string why = has_holes ? "too little of the text is known" : parsed.error;
      result_.problems.push_back({like_.range, (by_ == SentBy::Client ? "SQL of the program: " : "dynamic SQL: ") + why, mentions_lock});
      if (has_holes && !mentions_lock) parsed.events.clear(), parsed.error.clear(), omitted = true;
    }
    const bool block = parsed.ddl.empty() && !parsed.bodies.empty();  // DO
    if (by_ == SentBy::Client && (!has_holes || block) && (parsed.has_locks || mentions_lock))
      define(parsed);
    else if ((!parsed.ddl.empty() || !parsed.bodies.empty()) && mentions_lock)
      result_.problems.push_back({like_.range, "a definition inside of dynamic SQL is not followed", true});
    for (Event& event : parsed.events) add(std::move(event), omitted, tokens);
    if (parsed.events.empty()) {
      Statement statement;
      statement.kind = parsed.error.empty() ? StatementKind::Utility : StatementKind::NotUnderstood;
      statement.head = tokens.upper(0);
      add(std::move(statement), omitted, tokens);
    }
  }

  void define(ParsedStatement& parsed) {
    const auto first = static_cast<std::int32_t>(result_.functions.size());
    for (Function& f : parsed.functions) result_.functions.push_back(std::move(f));
    for (const ParsedStatement::Body& b : parsed.bodies) {
      Function& f = result_.functions[static_cast<std::size_t>(first + b.function)];
      parseBody(withoutUnknownStatements(b.text, text_.holes, lines_), b.language, lines_, f, result_.problems);
      for (Block& block : f.blocks)
        for (Event& e : block.events)
          for (Statement& s : e.statement) {
            HoleFiller filler(text_.holes, using_, callsIn(s));
            Statement::describe(s, filler);
            s.has_holes = s.has_holes || filler.leftHoles();
          }
    }
    for (Ddl& d : parsed.ddl) {
      if (d.function >= 0) d.function += first;
      result_.ddl.push_back(std::move(d));
    }
    for (Event& e : parsed.events)
      for (Statement& s : e.statement)
        if (s.function >= 0) s.function += first;
  }

  void add(Event event, bool omitted, const BodyTokens& tokens) {
    // COMMIT and the like are refused in dynamic SQL (0A000), definitions have no place in a function's facts.
    if ((event.kind == EventKind::Transaction && by_ == SentBy::Function) || event.kind == EventKind::Ddl) {
      Statement statement;
      statement.head = tokens.upper(0);
      if (tokens.kind(1) == TokenKind::Word) statement.head += " " + tokens.upper(1);
      event = std::move(statement);
    }
    if (event.kind == EventKind::Statement) finish(event.statement[0], omitted);
    result_.events.push_back(std::move(event));
  }

  void finish(Statement& statement, bool omitted) {
    HoleFiller filler(text_.holes, using_, callsIn(statement));
    Statement::describe(statement, filler);
    statement.dynamic = true, statement.has_holes = omitted || filler.leftHoles();
    statement.using_args = using_;
    statement.range = like_.range, statement.loop_depth = like_.loop_depth, statement.left_early = like_.left_early;
    statement.context = like_.context;
    statement.into = like_.into, statement.into_strict = like_.into_strict;
    if (!like_.name.empty()) statement.name = like_.name;
    const bool opened = like_.context == PlContext::OpenCursor && statement.kind == StatementKind::Query;
    if (opened) statement.kind = StatementKind::DeclareCursor;
    const bool reads = !statement.query.empty() && statement.kind == StatementKind::Query &&
                       (statement.query[0].kind == QueryKind::Select || statement.query[0].kind == QueryKind::Values ||
                        statement.query[0].kind == QueryKind::SetOperation);
    if (like_.context == PlContext::Perform && !reads) statement.context = PlContext::Sql;
  }

  const DynamicText& text_;
  const List<Expr>& using_;
  const Statement& like_;
  const LineIndex& lines_;
  SentBy by_;
  DynamicResult result_;
};

}  // namespace

void DynamicText::addHole(DynamicHole hole, std::uint32_t file_offset) {
  const std::string marker = holeMarker(holes.size());
  text.append(hole.kind == HoleKind::Literal ? "'" + marker + "'" : marker, file_offset);
  holes.push_back(std::move(hole));
}

bool callsLock(const Expr& expr) {
  bool found = false;
  ExprWalk walk([&found](const Expr& e) {
    found = found || (e.kind == ExprKind::Call && findLockFunction(e.name) != nullptr);
    return !found;
  });
  walk.visit(expr);
  return found;
}

std::optional<DynamicText> readDynamicText(const BodyTokens& tokens, TokenSpan expression, EventPlace place, const HeldBy& held) {
  DynamicText result;
  bool known = false;  // the text begins with something that is written down
  const std::uint32_t whole = tokens.range(expression).begin;
  for (const Piece& piece : TextReader(tokens, held).read(expression, place)) {
    if (!piece.hole) {
      known = known || piece.text.text().find_first_not_of(" \t\r\n(") != std::string::npos;
      appendMapped(result.text, piece.text);
      continue;
    }
    if (!known) return std::nullopt;
    DynamicHole hole{piece.kind, {}};
    std::string error;
    if (!piece.argument.empty())
      if (std::optional<Query> query = parseExpression(tokens.slice(piece.argument), tokens.lines(), error))
        if (!query->targets.empty()) hole.argument.push_back(std::move(query->targets[0].expr));
    result.addHole(std::move(hole), piece.argument.empty() ? whole : tokens.range(piece.argument).begin);
  }
  if (!known) return std::nullopt;
  return result;
}

DynamicResult parseDynamicText(const DynamicText& text, const List<Expr>& using_args, const Statement& like,
                               const LineIndex& lines, SentBy by) {
  return DynamicParser(text, using_args, like, lines, by).parse();
}

}  // namespace pglocklint::sql
