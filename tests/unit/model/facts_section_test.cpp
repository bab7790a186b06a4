// The section of object files: what was written comes back, and whatever else stands there costs one message.
#include <doctest/doctest.h>

#include <random>

#include "model/facts_json.h"
#include "model/facts_section.h"

using namespace pglocklint;

namespace {

SourceRange rangeAt(std::uint32_t file, std::uint32_t line, std::uint32_t begin, std::uint32_t length) {
  return {begin, begin + length, line, 3, line, 3 + length, file};
}

Function functionIn(std::uint32_t file, const std::string& name, std::uint32_t line) {
  Function f;
  f.kind = FunctionKind::HostFunction, f.language = "cpp", f.name = name;
  f.range = rangeAt(file, line, line * 20, 10);
  HostCall call;
  call.range = f.range;
  HostPiece piece;
  piece.text = "SELECT pg_advisory_lock(1)\t\"\\\xC3\xA9", piece.places = {{0, file, line * 20 + 5}}, piece.range = f.range;
  call.texts.push_back({{piece}});
  call.binds.emplace_back().defined = rangeAt(0, 1, 4, 2);
  f.host.emplace_back().calls.push_back(std::move(call));
  f.blocks.emplace_back();
  return f;
}

// A file with functions of its own and of two headers.
Unit unitOf(const std::string& path) {
  Unit u;
  u.language = "cpp";
  u.files = {path, "other.h", "guard.h"};
  if (path == "b.cpp") std::swap(u.files[1], u.files[2]);
  const std::uint32_t guard = path == "b.cpp" ? 1 : 2;
  Function top;
  top.language = "cpp";
  top.blocks.emplace_back();
  u.functions = {top, functionIn(guard, "Guard::constructor()", 4), functionIn(0, "f" + path, 7), functionIn(guard, "Guard::destructor()", 9)};
  for (Function& f : u.functions)  // what a header's function binds is not in the unit's own file
    if (!f.host.empty() && f.range.file != 0) f.host[0].calls[0].binds[0].defined.file = f.range.file;
  return u;
}

std::string sectionOf(const Unit& unit) {
  std::string section;
  for (const std::string& record : sectionRecords({unit, {"0123", "4567", "89ab"}})) section += record;
  return section;
}

std::vector<MadeUnit> unitsIn(SectionReader& reader) {
  std::vector<std::string> problems;
  std::vector<MadeUnit> units = reader.units(problems);
  CHECK(problems.empty());
  return units;
}

}  // namespace

TEST_CASE("a unit comes back as it was written") {
  SectionReader reader;
  const Unit unit = unitOf("a.cpp");
  CHECK(inconsistencyOf(unit) == "");
  CHECK(reader.add(sectionOf(unit)) == "");
  const std::vector<MadeUnit> units = unitsIn(reader);
  REQUIRE(units.size() == 1);
  CHECK(units[0] == MadeUnit{unit, {"0123", "4567", "89ab"}});
  CHECK(factsToJson(units[0].unit, -1) == factsToJson(unit, -1));
}

TEST_CASE("sections behind one another, with padding, in any order and more than once") {
  const Unit a = unitOf("a.cpp"), b = unitOf("b.cpp");
  std::vector<std::string> records = sectionRecords({a, {"0123"}});
  for (const std::string& r : sectionRecords({b, {"0123"}})) records.push_back(r);
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(records.begin(), records.end(), random);
    std::string section(static_cast<std::size_t>(round % 3), '\0');
    for (const std::string& r : records) section += r + std::string(static_cast<std::size_t>(round % 4), '\0');
    SectionReader reader;
    CHECK(reader.add(section) == "");
    CHECK(reader.add(section) == "");
    CHECK(reader.unitCount() == 2);
    const std::vector<MadeUnit> units = unitsIn(reader);
    REQUIRE(units.size() == 2);
    CHECK(units[0].unit == a);
    CHECK(units[1].unit.path() == "b.cpp");
    CHECK(units[1].unit.functions.size() == 2);  // the header's functions came with a.cpp
  }
}

TEST_CASE("the same function of a header is one record, whatever numbers its unit gives to files") {
  const std::vector<std::string> a = sectionRecords({unitOf("a.cpp"), {"0123"}}), b = sectionRecords({unitOf("b.cpp"), {"0123"}});
  REQUIRE(a.size() == 3);
  CHECK(a[0] == b[0]);
  CHECK(a[1] == b[1]);
  CHECK(a[2] != b[2]);
}

TEST_CASE("damage is one message, and the other records are read") {
  const Unit a = unitOf("a.cpp");
  const std::string good = sectionOf(a);
  const auto problemOf = [](const std::string& section) {
    SectionReader reader;
    return reader.add(section);
  };
  CHECK(problemOf(good.substr(0, good.size() - 1)) == "a record is cut short");
  CHECK(problemOf("x" + good) == "it holds something that is no record");
  CHECK(problemOf("pglocklint-facts 2 unit 3 0123456789abcdef\nabc\0") == "it was written by another version of pglocklint");
  CHECK(problemOf("pglocklint-facts 1 unit 99999999999999999999 0\n") == "the head of a record is damaged");
  std::string changed = good;
  changed[changed.find("SELECT")] = 's';
  CHECK(problemOf(changed) == "a record is damaged");
  SectionReader reader;
  CHECK(reader.add("junk" + good + "junk" + sectionOf(unitOf("b.cpp"))) == "it holds something that is no record");
  CHECK(reader.unitCount() == 2);

  SectionReader without;  // a unit whose header was lost
  CHECK(without.add(sectionRecords({a, {"0123"}})[2]) == "");
  std::vector<std::string> problems;
  const std::vector<MadeUnit> units = without.units(problems);
  CHECK(problems == std::vector<std::string>{"a.cpp: a function of one of its headers is missing"});
  REQUIRE(units.size() == 1);
  CHECK(units[0].unit.functions.size() == 2);
}

// Whatever stands there, the reader ends, and what it gives may be linked.
TEST_CASE("hostile sections") {
  const std::string good = sectionOf(unitOf("a.cpp")) + sectionOf(unitOf("b.cpp"));
  std::mt19937 random(20260101);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 3000; ++round) {
    std::string bad = good;
    for (std::size_t edits = 1 + below(6); edits > 0 && !bad.empty(); --edits) {
      const std::size_t at = below(bad.size());
      switch (below(5)) {
        case 0: bad[at] = static_cast<char>(below(256)); break;
        case 1: bad.erase(at, below(40)); break;
        case 2: bad.insert(at, bad.substr(below(bad.size()), below(60))); break;
        case 3: bad.insert(at, std::string(below(9), '\0')); break;
        case 4: bad.resize(at + 1); break;
      }
    }
    SectionReader reader;
    (void)reader.add(bad);
    std::vector<std::string> problems;
    for (const MadeUnit& u : reader.units(problems)) CHECK(inconsistencyOf(u.unit) == "");
  }
}

// The same with digests that fit: somebody wrote it so.
TEST_CASE("hostile records") {
  const std::string json = factsToJson(unitOf("a.cpp"), -1);
  std::mt19937 random(42);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  constexpr std::string_view kNumbers[] = {"-1", "4294967295", "99", "0", "[]", "{}", "\"x\"", "1e99", "null"};
  for (int round = 0; round < 3000; ++round) {
    std::string bad = json;
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      std::size_t at = bad.find_first_of("0123456789", below(bad.size()));
      if (at == bad.npos) continue;
      bad.replace(at, bad.find_first_not_of("0123456789", at) - at, kNumbers[below(std::size(kNumbers))]);
    }
    std::string error;
    const auto unit = factsFromJson(bad, error);
    if (!unit || unit->files.empty()) continue;
    if (!inconsistencyOf(*unit).empty()) continue;
    SectionReader reader;
    (void)reader.add(sectionOf(*unit));
    std::vector<std::string> problems;
    for (MadeUnit& made : reader.units(problems)) {
      Unit& u = made.unit;
      CHECK(inconsistencyOf(u) == "");
      for (std::uint32_t f = 0; f < u.files.size(); ++f) placeByLines(u, f, "one\ntwo\n");
      CHECK(inconsistencyOf(u) == "");
      (void)textOfPlaces({u}, "a.cpp");
    }
  }
}

TEST_CASE("places by line become places in the text, and the other way round") {
  Unit u = unitOf("a.cpp");
  HostPlace& place = u.functions[2].host[0].calls[0].texts[0].pieces[0].places[0];
  SourceRange& range = u.functions[2].range;
  place.at = offsetByLine(2, 4);
  range.begin = offsetByLine(2, 1), range.end = offsetByLine(3, 9000);
  placeByLines(u, 0, "first\nsecond\nthird\n");
  CHECK(place.at == 9);
  CHECK(range.begin == 6);
  CHECK(range.end == 18);  // the end of its line
  range = {6, 12, 2, 1, 2, 7, 0};
  u.functions[2].body_range = {20, 25, 4, 1, 4, 6, 0};
  const std::string text = textOfPlaces({u}, "a.cpp");
  CHECK(text.size() == 20);
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  CHECK(text[5] == '\n');
  CHECK(text[19] == '\n');
}
