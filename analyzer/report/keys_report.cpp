#include "report/keys_report.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "program/keys.h"
#include "report/source_text.h"
#include "report/text.h"

namespace pglocklint {
namespace {

std::string functionOf(const LockSite& site) { return site.function ? functionName(site.function) : std::string(); }

// One thing that varies, in the user's words; empty for what is made of others.
std::string inWords(const Value& v, const std::string& function) {
  const auto of = [&](std::string_view what) {
    return function.empty() ? fmt::format("{} {}", what, v.name) : fmt::format("{} {} of {}", what, v.name, function);
  };
  switch (v.kind) {
    case ValueKind::Parameter: return of("parameter");
    case ValueKind::Variable: return of("variable");
    case ValueKind::Column: return v.relation.empty() ? fmt::format("column {}", v.name) : fmt::format("column {}.{}", v.relation, v.name);
    case ValueKind::Clock: return fmt::format("the time ({})", v.name);
    case ValueKind::Random: return "a random number";
    case ValueKind::ProcessId: return "the backend's process id";
    case ValueKind::TransactionId: return "the transaction id";
    case ValueKind::Oid: return v.name.empty() ? "an oid" : fmt::format("the oid of {}", v.name);
    case ValueKind::Setting: return fmt::format("setting {}", v.name);
    case ValueKind::Sequence: return fmt::format("sequence {}", v.name);
    case ValueKind::Null: return "NULL";
    case ValueKind::Call: return fmt::format("result of {}", v.name);
    case ValueKind::Unknown: return "a value that is not known";
    default: return "";
  }
}

bool isNumber(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The things that vary in a value: the leaves of its tree that are not constant.
void addVarying(const Value& v, const std::string& function, std::set<std::string>& into) {
  if (v.isConstant() && v.kind != ValueKind::Null) return;
  std::set<std::string> below;
  if (v.kind != ValueKind::Clock)
    for (const Value& a : v.args) addVarying(a, function, below);
  // lower(p_email) varies because p_email does; a call of nothing that varies is named itself.
  std::string words = v.kind == ValueKind::Call && !below.empty() ? "" : inWords(v, function);
  if (words.empty() && v.args.empty()) words = classText(v);
  if (!words.empty()) below.insert(std::move(words));
  into.merge(below);
}

// How a computed constant is written: numbers that lock views show become names again.
std::string writtenAs(const Value& v) {
  const auto arguments = [&](std::string_view separator) {
    std::vector<std::string> texts;
    for (const Value& a : v.args) texts.push_back(writtenAs(a));
    return fmt::format("{}", fmt::join(texts, separator));
  };
  switch (v.kind) {
    case ValueKind::Text: return fmt::format("'{}'", v.text);
    case ValueKind::Hash: return v.args.empty() ? classText(v) : fmt::format("{}({})", v.name, arguments(", "));
    case ValueKind::Concat: return arguments(" || ");
    case ValueKind::Cast: return v.args.empty() ? classText(v) : v.implicit ? writtenAs(v.args.front()) : fmt::format("{}::{}", writtenAs(v.args.front()), v.type);
    case ValueKind::Arithmetic:
      if (v.args.size() == 2) return fmt::format("{} {} {}", writtenAs(v.args[0]), v.name, writtenAs(v.args[1]));
      return v.args.empty() ? classText(v) : fmt::format("{}({})", v.name, arguments(", "));
    default: return classText(v);
  }
}

struct Collected {
  KeyEntry entry;
  std::vector<std::set<std::string>> any, origin;
  std::set<std::string> names;
  std::set<KeyPlace> defined_at;
  std::set<KeySite> sites;
};

void addPart(const Value& part, std::size_t index, const LockSite& site, const Program& program, Collected& into) {
  if (into.entry.parts.size() <= index) into.entry.parts.resize(index + 1), into.any.resize(index + 1), into.origin.resize(index + 1);
  // The name may hang on the value itself or below the conversions that PostgreSQL adds.
  const Value* named = &part;
  while (named->constant_name.empty() && named->kind == ValueKind::Cast && !named->args.empty()) named = &named->args.front();
  if (!named->constant_name.empty()) {
    into.names.insert(named->constant_name);
    if (named->range.known() && named->unit >= 0 && static_cast<std::size_t>(named->unit) < program.units.size()) {
      const Location at = program.locate(named->unit, named->range);
      into.defined_at.insert({at.file, at.line});
    }
  }
  const std::string text = classText(part);
  if (!isNumber(text)) return addVarying(part, functionOf(site), into.any[index]);
  into.entry.parts[index].constant = text;
  if (std::string written = writtenAs(part); written != text) into.origin[index].insert(std::move(written));
}

std::string sitesInWords(const KeyEntry& key, std::string_view separator) {
  std::vector<std::string> places;
  for (const KeySite& s : key.sites)
    places.push_back(fmt::format("{}:{} {} {} {}{}", printable(s.file), s.line, s.op, s.scope, s.mode, s.function.empty() ? "" : " in " + printable(s.function)));
  return fmt::format("{}", fmt::join(places, separator));
}

// What `*` stands for.
std::string varyingInWords(const KeyEntry& key) {
  std::vector<std::string> words;
  for (const KeyPart& part : key.parts)
    if (part.constant.empty()) words.push_back(fmt::format("{}", fmt::join(part.any, " or ")));
  return fmt::format("{}", fmt::join(words, "; "));
}

std::string originsInWords(const KeyEntry& key) {
  std::vector<std::string> words;
  for (const KeyPart& part : key.parts)
    if (!part.origin.empty()) words.push_back(fmt::format("{} = {}", part.constant, fmt::join(part.origin, " = ")));
  return fmt::format("{}", fmt::join(words, "; "));
}

// '|' would end a cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::vector<KeyEntry> keysOf(const Program& program) {
  std::map<std::pair<std::string, std::string>, Collected> classes;
  for (const LockSite& site : program.sites) {
    if (!site.live || site.lock == nullptr || site.call == nullptr) continue;
    if (!hasKey(site.key.form)) continue;
    const std::string form(nameOf(site.key.form));
    Collected& c = classes[{form, site.key.class_text}];
    c.entry.form = form, c.entry.text = site.key.class_text;
    for (std::size_t i = 0; i < site.key.parts.size(); ++i) addPart(site.key.parts[i], i, site, program, c);
    const Location at = program.locate(site.unit, site.call->range);
    c.sites.insert({at.file, at.line, std::string(nameOf(site.lock->operation)), std::string(nameOf(site.lock->scope)),
                    std::string(nameOf(site.lock->mode)), functionOf(site)});
  }
  std::vector<KeyEntry> keys;
  for (auto& [key, c] : classes) {
    for (std::size_t i = 0; i < c.any.size(); ++i) {
      c.entry.parts[i].any.assign(c.any[i].begin(), c.any[i].end());
      c.entry.parts[i].origin.assign(c.origin[i].begin(), c.origin[i].end());
    }
    c.entry.names.assign(c.names.begin(), c.names.end());
    c.entry.defined_at.assign(c.defined_at.begin(), c.defined_at.end());
    c.entry.sites.assign(c.sites.begin(), c.sites.end());
    keys.push_back(std::move(c.entry));
  }
  return keys;
}

std::string keysText(const std::vector<KeyEntry>& keys) {
  std::string out;
  for (const KeyEntry& key : keys) {
    out += fmt::format("{} {}", key.form, printable(key.text));
    if (!key.names.empty()) out += fmt::format("  {}", printable(fmt::format("{}", fmt::join(key.names, ", "))));
    out += '\n';
    if (const std::string origins = originsInWords(key); !origins.empty()) out += fmt::format("  {}\n", printable(origins));
    if (const std::string varying = varyingInWords(key); !varying.empty()) out += fmt::format("  * is {}\n", printable(varying));
    for (const KeyPlace& at : key.defined_at) out += fmt::format("  defined at {}:{}\n", printable(at.file), at.line);
    out += fmt::format("  {}\n", sitesInWords(key, "\n  "));
  }
  return out + fmt::format("{}{}\n", keys.empty() ? "" : "\n", counted(keys.size(), "key"));
}

std::string keysJson(const std::vector<KeyEntry>& keys) {
  using Json = nlohmann::ordered_json;
  Json json{{"keys", Json::array()}};
  for (const KeyEntry& key : keys) {
    Json entry{{"form", key.form}, {"parts", Json::array()}, {"text", key.text}, {"names", key.names}};
    for (const KeyPart& part : key.parts)
      entry["parts"].push_back(part.constant.empty() ? Json{{"any", fmt::format("{}", fmt::join(part.any, " or "))}} : Json{{"const", part.constant}});
    entry["defined_at"] = Json::array();
    for (const KeyPlace& at : key.defined_at) entry["defined_at"].push_back({{"file", at.file}, {"line", at.line}});
    entry["sites"] = Json::array();
    for (const KeySite& s : key.sites)
      entry["sites"].push_back({{"file", s.file}, {"line", s.line}, {"op", s.op}, {"scope", s.scope}, {"mode", s.mode}, {"function", s.function}});
    json["keys"].push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string keysMarkdown(const std::vector<KeyEntry>& keys) {
  std::string out = "| key | form | names | made of | sites |\n|---|---|---|---|---|\n";
  for (const KeyEntry& key : keys)
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", cell(printable(key.text)), key.form, cell(fmt::format("{}", fmt::join(key.names, ", "))),
                       cell(printable(originsInWords(key) + (originsInWords(key).empty() || varyingInWords(key).empty() ? "" : "; ") + varyingInWords(key))),
                       cell(sitesInWords(key, "<br>")));
  return out;
}

}  // namespace pglocklint
