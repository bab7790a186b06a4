// Facts written as JSON and read back are the same facts, whatever they hold; what is not such JSON is refused with a place.
#include <doctest/doctest.h>

#include <random>

#include "model/facts_json.h"

using namespace pglocklint;

namespace {

template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<List<T>> : std::true_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};

// Fills any described struct with anything. Nesting ends at `depth`.
class Randomizer {
 public:
  explicit Randomizer(unsigned seed) : engine_(seed) {}

  template <class M>
  void operator()(const char*, M& member) {
    if (pick(3) == 0) return;  // keep the default
    fill(member);
  }

 private:
  std::uint32_t pick(std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(engine_); }

  template <class M>
  void fill(M& m) {
    if constexpr (IsRare<M>::value) {
      fill(m.edit());
    } else if constexpr (std::is_same_v<M, RareText>) {
      std::string text;
      fill(text);
      m = text;
    } else if constexpr (std::is_same_v<M, std::string>) {
      static const std::string kTexts[] = {"", "a", "pg_advisory_lock", "größe", "\"q\" \\ \n\t\x01", std::string("\0x", 2), "\xff\xfe", "\xed\xa0\x80", "\xf0\x9f\x90\x98"};
      m = kTexts[pick(std::size(kTexts))];
    } else if constexpr (std::is_enum_v<M>) {
      m = static_cast<M>(pick(static_cast<std::uint32_t>(enumNames(EnumTag<M>{}).size())));
    } else if constexpr (std::is_same_v<M, bool>) {
      m = pick(2) == 1;
    } else if constexpr (std::is_same_v<M, double>) {
      static const double kNumbers[] = {0, 0.1, 1e300, -1, 1.0 / 3, std::numeric_limits<double>::infinity()};
      m = kNumbers[pick(std::size(kNumbers))];
    } else if constexpr (std::is_arithmetic_v<M>) {
      const M edges[] = {0, 1, std::numeric_limits<M>::max(), std::numeric_limits<M>::min(), static_cast<M>(engine_())};
      m = edges[pick(std::size(edges))];
    } else if constexpr (IsList<M>::value) {
      if (depth_ > 5) return;
      ++depth_;
      const std::uint32_t n = pick(3);
      for (std::uint32_t i = 0; i < n; ++i) m.emplace_back(), fill(m.back());
      --depth_;
    } else {
      ++depth_;
      if (depth_ < 9) M::describe(m, *this);
      --depth_;
    }
  }

  std::mt19937 engine_;
  int depth_ = 0;
};

Unit smallUnit() {
  Unit unit;
  unit.files = {"a.sql"};
  Function script;
  script.range = {0, 9, 1, 1, 1, 10, 0};
  Statement s;
  s.kind = StatementKind::Query;
  s.head = "SELECT";
  Block block;
  block.events.emplace_back(s);
  script.blocks.push_back(block);
  unit.functions.push_back(script);
  return unit;
}

std::string errorFor(std::string_view text) {
  std::string error;
  CHECK_FALSE(factsFromJson(text, error).has_value());
  return error;
}

}  // namespace

TEST_CASE("any unit survives being written and read, on one line and indented") {
  std::size_t longest = 0;
  for (unsigned seed = 1; seed <= 150; ++seed) {
    Unit unit;
    Randomizer random(seed);
    Unit::describe(unit, random);
    for (const int indent : {-1, 1, 2}) {
      const std::string text = factsToJson(unit, indent);
      longest = std::max(longest, text.size());
      std::string error;
      const auto read = factsFromJson(text, error);
      REQUIRE_MESSAGE(read.has_value(), error);
      CHECK(*read == unit);
      CHECK(factsToJson(*read, indent) == text);
    }
  }
  CHECK(longest > 5000);  // the random units are not all but empty
}

TEST_CASE("defaults are left out and a range is one short line") {
  const std::string text = factsToJson(smallUnit(), 2);
  CHECK(text == R"({
  "schema": "pglocklint/facts/1",
  "files": ["a.sql"],
  "functions": [
    {"range":[1,1,1,10,0,9],"blocks":[{"events":[{"statement":[{"kind":"query","head":"SELECT"}]}]}]}
  ]
})");
}

TEST_CASE("what is not facts is refused with a place") {
  CHECK(errorFor("{").find("line 1, column 2") != std::string::npos);
  CHECK(errorFor("[]") == "/schema: \"pglocklint/facts/1\" is expected here");
  CHECK(errorFor(R"({"schema":"pglocklint/facts/99"})") == "/schema: \"pglocklint/facts/1\" is expected here");
  CHECK(errorFor(R"({"schema":"pglocklint/facts/1","flies":[]})") == "/: unknown member \"flies\"");
  CHECK(errorFor(R"({"schema":"pglocklint/facts/1","files":[3]})") == "/files/0: a string is expected here");
  CHECK(errorFor(R"({"schema":"pglocklint/facts/1","files":[{"hex":"0g"}]})") == "/files/0: a string is expected here");
  CHECK(errorFor(R"({"schema":"pglocklint/facts/1","statements":-1})") == "/statements: the number is out of range");
  CHECK(errorFor(R"({"schema":"pglocklint/facts/1","statements":4294967296})") == "/statements: the number is out of range");
  CHECK(errorFor(R"({"schema":"pglocklint/facts/1","functions":[{"kind":"macro"}]})") == "/functions/0/kind: unknown name \"macro\"");
  CHECK(errorFor(R"({"schema":"pglocklint/facts/1","functions":[{"range":[1,2]}]})") ==
        "/functions/0/range: a range of 6 or 7 numbers is expected here");
}

TEST_CASE("facts whose indexes point to nothing are called inconsistent") {
  CHECK(inconsistencyOf(smallUnit()) == "");

  Unit no_block = smallUnit();
  no_block.functions[0].blocks[0].successors.push_back({7, EdgeKind::Next});
  CHECK(inconsistencyOf(no_block) == "/functions/0: an edge leads to no block");

  Unit other_file = smallUnit();
  other_file.functions[0].range.file = 1;
  CHECK(inconsistencyOf(other_file) == "/functions/0/range: the range is in a file that the unit does not name");

  Unit two_kinds = smallUnit();
  two_kinds.functions[0].blocks[0].events[0].kind = EventKind::Exit;
  CHECK(inconsistencyOf(two_kinds) == "/functions/0/blocks/0/events/0: an event is of one kind");

  Unit no_query = smallUnit();
  Expr sub_select;
  sub_select.kind = ExprKind::SubSelect;
  no_query.functions[0].blocks[0].events[0].statement[0].exprs.push_back(sub_select);
  CHECK(inconsistencyOf(no_query).find("/exprs/0: one query belongs to a sub-select") != std::string::npos);

  Unit loop = smallUnit();
  loop.functions[0].exception_scopes.resize(1);
  loop.functions[0].exception_scopes[0].parent = 0;
  CHECK(inconsistencyOf(loop) != "");

  CHECK(inconsistencyOf(Unit{}) == "/files: a unit has at least its own file");
}
