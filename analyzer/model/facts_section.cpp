#include "model/facts_section.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "model/facts_json.h"
#include "model/visit.h"

namespace pglocklint {
namespace {

constexpr std::string_view kMagic = "pglocklint-facts ";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kUnit = "unit", kFunction = "function";

// Gives every file number in a function another one. A range that is none stays so.
template <class Map>
void renumber(Function& f, Map to) {
  forEachIn(f, AnyOf{[&](SourceRange& r) {
                       if (r != SourceRange{}) r.file = to(r.file);
                     },
                     [&](HostPlace& p) { p.file = to(p.file); }});
}

// FNV-1a. Tells records apart and notices damage; it is no protection against anybody.
std::string digestOf(std::string_view kind, std::string_view payload) {
  std::uint64_t hash = 14695981039346656037u;
  for (const std::string_view part : {kind, payload})
    for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex(16, '0');
  for (std::size_t i = 0; i < 16; ++i) hex[15 - i] = kDigits[(hash >> (4 * i)) & 15];
  return hex;
}

std::string record(std::string_view kind, std::string_view payload) {
  std::string out(kMagic);
  out.append(kVersion).append(" ").append(kind).append(" ").append(std::to_string(payload.size())).append(" ");
  out.append(digestOf(kind, payload)).append("\n").append(payload).push_back('\0');
  return out;
}

// Takes the text up to `end` off `rest`; nullopt if there is no `end` in the next `most` bytes.
std::optional<std::string_view> takeUpTo(std::string_view& rest, char end, std::size_t most) {
  const std::size_t at = rest.substr(0, most).find(end);
  if (at == rest.npos) return std::nullopt;
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  return part;
}

std::optional<std::uint64_t> number(std::string_view digits) {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return n;
}

}  // namespace

std::vector<std::string> sectionRecords(const MadeUnit& made) {
  const Unit& unit = made.unit;
  std::vector<std::string> records;
  Unit rest = unit;
  rest.functions.clear();
  std::string index;
  for (std::size_t i = 0; i < unit.functions.size(); ++i) {
    Function f = unit.functions[i];
    if (f.kind != FunctionKind::HostFunction || f.range.file == 0) {
      rest.functions.push_back(std::move(f));
      continue;
    }
    Unit own;
    own.language = unit.language;
    own.files.push_back(unit.files[f.range.file]);
    renumber(f, [&](std::uint32_t file) {
      const std::string& name = unit.files[file];
      const auto at = std::find(own.files.begin(), own.files.end(), name) - own.files.begin();
      if (static_cast<std::size_t>(at) == own.files.size()) own.files.push_back(name);
      return static_cast<std::uint32_t>(at);
    });
    own.functions.push_back(std::move(f));
    const std::string payload = factsToJson(own, -1);
    index += (index.empty() ? "" : " ") + std::to_string(i) + ":" + digestOf(kFunction, payload);
    records.push_back(record(kFunction, payload));
  }
  std::string digests;
  for (const std::string& d : made.digests) digests += (digests.empty() ? "" : " ") + d;
  records.push_back(record(kUnit, index + "\n" + digests + "\n" + factsToJson(rest, -1)));
  return records;
}

std::string SectionReader::take(std::string_view kind, std::string_view id, std::string_view payload) {
  if (digestOf(kind, payload) != id) return "a record is damaged";
  if (kind == kUnit)
    units_.try_emplace(std::string(id), payload);
  else if (kind == kFunction)
    functions_.try_emplace(std::string(id), payload);
  else
    return "a record is of an unknown kind";
  return "";
}

std::string SectionReader::add(std::string_view section) {
  std::string problem;
  const auto note = [&](std::string what) {
    if (problem.empty()) problem = std::move(what);
  };
  while (!section.empty()) {
    if (section[0] == '\0') {  // padding
      section.remove_prefix(std::min(section.find_first_not_of('\0'), section.size()));
      continue;
    }
    if (!section.starts_with(kMagic)) {
      note("it holds something that is no record");
      section.remove_prefix(std::min(section.find(kMagic, 1), section.size()));
      continue;
    }
    std::string_view rest = section.substr(kMagic.size());
    const auto version = takeUpTo(rest, ' ', 16), kind = takeUpTo(rest, ' ', 16), length = takeUpTo(rest, ' ', 24);
    const auto id = takeUpTo(rest, '\n', 24);
    constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();  // more than any record has
    const std::uint64_t size = length ? number(*length).value_or(kNone) : kNone;
    std::string wrong;
    if (version && *version != kVersion)
      wrong = "it was written by another version of pglocklint";
    else if (!version || !kind || !id || size == kNone)
      wrong = "the head of a record is damaged";
    else if (size >= rest.size() || rest[size] != '\0')
      wrong = "a record is cut short";
    else
      wrong = take(*kind, *id, rest.substr(0, size));
    if (wrong.empty()) {
      section = rest.substr(size + 1);
      continue;
    }
    note(std::move(wrong));
    section.remove_prefix(std::min(section.find(kMagic, kMagic.size()), section.size()));
  }
  return problem;
}

void SectionReader::complete(Unit& unit, std::string_view index, std::set<std::pair<std::string, std::uint32_t>>& kept,
                             std::string& problem) const {
  List<Function> own = std::exchange(unit.functions, {});
  std::size_t next = 0;
  while (!index.empty()) {
    const std::size_t space = std::min(index.find(' '), index.size());
    std::string_view entry = index.substr(0, space);
    index.remove_prefix(std::min(space + 1, index.size()));
    const auto colon = takeUpTo(entry, ':', 24);
    const auto at = colon ? number(*colon) : std::nullopt;
    if (!at) {
      problem = "a unit's list of functions is damaged";
      break;
    }
    while (next < own.size() && unit.functions.size() < *at) unit.functions.push_back(std::move(own[next++]));
    const auto found = functions_.find(entry);
    if (found == functions_.end()) {
      problem = "a function of one of its headers is missing";
      continue;
    }
    std::string why;
    auto shared = factsFromJson(found->second, why);
    if (shared) why = shared->functions.size() == 1 ? inconsistencyOf(*shared) : "it holds something else";
    if (!why.empty()) {
      problem = "the record of a function: " + why;
      continue;
    }
    Function& f = shared->functions[0];
    if (!kept.emplace(shared->files[f.range.file], f.range.begin).second) continue;
    bool named = true;
    renumber(f, [&](std::uint32_t file) {
      const auto place = std::find(unit.files.begin(), unit.files.end(), shared->files[file]) - unit.files.begin();
      named &= static_cast<std::size_t>(place) < unit.files.size();
      return static_cast<std::uint32_t>(named ? place : 0);
    });
    if (named)
      unit.functions.push_back(std::move(f));
    else
      problem = "a function is in a file that its unit does not name";
  }
  while (next < own.size()) unit.functions.push_back(std::move(own[next++]));
}

std::vector<MadeUnit> SectionReader::units(std::vector<std::string>& problems) {
  struct Read {
    Unit unit;
    std::string_view index, digests;
    std::size_t size;
  };
  std::vector<Read> read;
  for (const auto& [id, payload] : units_) {
    std::string why;
    std::string_view rest = payload;
    const auto index = takeUpTo(rest, '\n', rest.size()), digests = takeUpTo(rest, '\n', rest.size());
    auto unit = factsFromJson(rest, why);
    if (unit) why = inconsistencyOf(*unit);
    if (why.empty() && index && digests)
      read.push_back({std::move(*unit), *index, *digests, payload.size()});
    else
      problems.push_back("the record of a unit: " + why);
  }
  // One path may be compiled more than once, with other flags: the richest facts stand for it.
  std::stable_sort(read.begin(), read.end(), [](const Read& a, const Read& b) {
    return a.unit.path() != b.unit.path() ? a.unit.path() < b.unit.path() : a.size > b.size;
  });
  const auto end = std::unique(read.begin(), read.end(), [](const Read& a, const Read& b) { return a.unit.path() == b.unit.path(); });
  read.erase(end, read.end());
  std::vector<MadeUnit> result;
  std::set<std::pair<std::string, std::uint32_t>> kept;
  for (Read& r : read) {
    std::string problem;
    complete(r.unit, r.index, kept, problem);
    if (!problem.empty()) problems.push_back(r.unit.path() + ": " + problem);
    MadeUnit& made = result.emplace_back(MadeUnit{std::move(r.unit), {}});
    while (!r.digests.empty()) {
      const std::size_t space = std::min(r.digests.find(' '), r.digests.size());
      made.digests.emplace_back(r.digests.substr(0, space));
      r.digests.remove_prefix(std::min(space + 1, r.digests.size()));
    }
  }
  return result;
}

void placeByLines(Unit& unit, std::uint32_t file, std::string_view text) {
  std::vector<std::uint32_t> starts{0};
  for (std::size_t i = text.find('\n'); i != text.npos; i = text.find('\n', i + 1)) starts.push_back(static_cast<std::uint32_t>(i + 1));
  const auto placed = [&](std::uint32_t& offset) {
    const std::size_t line = std::min<std::size_t>(offset / kLineRoom, starts.size() - 1);
    const std::size_t end = line + 1 < starts.size() ? starts[line + 1] - 1 : text.size();
    offset = static_cast<std::uint32_t>(std::min<std::size_t>(starts[line] + offset % kLineRoom, end));
  };
  forEachIn(unit, AnyOf{[&](SourceRange& r) {
                          if (r.file == file) placed(r.begin), placed(r.end), r.end = std::max(r.begin, r.end);
                        },
                        [&](HostPlace& p) {
                          if (p.file == file) placed(p.at);
                        }});
}

std::string textOfPlaces(const std::vector<Unit>& units, const std::string& path) {
  std::map<std::uint32_t, std::uint32_t> starts;  // by line
  const auto note = [&](std::uint32_t line, std::uint32_t column, std::uint32_t offset) {
    if (line > 0 && column > 0 && offset >= column - 1) starts.try_emplace(line, offset - (column - 1));
  };
  for (const Unit& unit : units) {
    const auto at = std::find(unit.files.begin(), unit.files.end(), path);
    if (at == unit.files.end()) continue;
    const auto file = static_cast<std::uint32_t>(at - unit.files.begin());
    forEachIn(unit, [&](const SourceRange& r) {
      if (r.file == file && r.known()) note(r.line, r.column, r.begin), note(r.end_line, r.end_column, r.end);
    });
  }
  std::string text;
  std::uint32_t line = 1;
  constexpr std::uint32_t kMost = std::uint32_t{64} << 20;
  for (const auto& [next, start] : starts) {
    if (next < line || start < text.size() || start - text.size() < next - line || start > kMost) continue;  // not of one text
    text.append(start - text.size() - (next - line), ' ').append(next - line, '\n');
    line = next;
  }
  return text;
}

}  // namespace pglocklint
