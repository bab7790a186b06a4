// Three small languages: an INI file (pgbouncer, manual "config"), the part of TOML that pgcat's configuration uses (tables and
// key = value lines), and Odyssey's nested blocks. Only where the pooler listens and its pool modes are of interest.
#include "source/pooler.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/ascii.h"
#include "source/pooler_yaml.h"
#include "source/yaml.h"

namespace pglocklint {

namespace {

std::string unquoted(std::string_view s) {
  s = trimmed(s);
  if (s.size() >= 2 && (s.front() == '"' || s.front() == '\'') && s.back() == s.front()) s = s.substr(1, s.size() - 2);
  return std::string(s);
}

struct Setting {
  std::string section, key, value;
  Location at;
};

// Lines `key = value` under `[section]`; comments begin a line with ; or # (TOML also ends one with #).
std::vector<Setting> readSections(const std::string& path, std::string_view text, bool toml) {
  std::vector<Setting> settings;
  std::string section;
  std::uint32_t line_number = 0, begin = 0;
  while (begin < text.size()) {
    const auto end = static_cast<std::uint32_t>(std::min(text.find('\n', begin), text.size()));
    const std::string_view line = text.substr(begin, end - begin);
    ++line_number;
    std::string_view content = trimmed(line);
    if (toml && content.find(" #") != std::string_view::npos) content = trimmed(content.substr(0, content.find(" #")));
    const std::size_t equals = content.find('=');
    if (content.starts_with('[') && content.ends_with(']')) {
      section = std::string(trimmed(content.substr(1, content.size() - 2)));
    } else if (!content.empty() && content[0] != ';' && content[0] != '#' && equals != std::string_view::npos) {
      const auto column = static_cast<std::uint32_t>(content.data() - line.data());
      const auto last = column + static_cast<std::uint32_t>(content.size());
      settings.push_back({section, std::string(trimmed(content.substr(0, equals))), std::string(trimmed(content.substr(equals + 1))),
                          {path, line_number, column + 1, line_number, last + 1, begin + column, begin + last}});
    }
    begin = end + 1;
  }
  return settings;
}

// host=10.0.0.5 port=5432 dbname=app pool_mode=session
std::map<std::string, std::string> readConnection(std::string_view text) {
  std::map<std::string, std::string> values;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t equals = text.find('=', at);
    if (equals == std::string_view::npos) break;
    const std::string key = lowered(trimmed(text.substr(at, equals - at)));
    std::size_t from = text.find_first_not_of(" \t", equals + 1);
    if (from == std::string_view::npos) break;
    const bool quoted = text[from] == '\'';
    const std::size_t end = std::min(text.find_first_of(quoted ? "'" : " \t", from + quoted), text.size());
    values[key] = std::string(text.substr(from + quoted, end - from - quoted));
    at = std::min(end + 1, text.size());
  }
  return values;
}

Pooler readPgbouncer(const std::string& path, std::string_view text) {
  Pooler pooler{"pgbouncer", path, "6432", {}, {}};
  const std::vector<Setting> settings = readSections(path, text, false);
  Pool general{"*", "", "", "", PoolMode::Session, {}};
  for (const Setting& s : settings) {
    if (lowered(s.section) != "pgbouncer") continue;
    if (lowered(s.key) == "listen_port") pooler.port = unquoted(s.value);
    if (lowered(s.key) == "pool_mode")
      if (const auto mode = poolModeOf(s.value)) general.mode = *mode, general.mode_at = s.at;
  }
  for (const Setting& s : settings) {
    if (lowered(s.section) != "users") continue;
    auto values = readConnection(s.value);
    if (const auto mode = poolModeOf(values["pool_mode"])) pooler.pools.push_back({"*", s.key, "", "", *mode, s.at});
  }
  std::vector<Pool> others;
  for (const Setting& s : settings) {
    if (lowered(s.section) != "databases") continue;
    auto values = readConnection(s.value);
    Pool pool{unquoted(s.key), "", values["host"], values["port"].empty() ? "5432" : values["port"], general.mode, general.mode_at};
    if (const auto mode = poolModeOf(values["pool_mode"])) pool.mode = *mode, pool.mode_at = s.at;
    (pool.database == "*" ? others : pooler.pools).push_back(std::move(pool));
  }
  std::move(others.begin(), others.end(), std::back_inserter(pooler.pools));
  pooler.pools.push_back(general);
  return pooler;
}

// [general] port = 6432, [pools.app] pool_mode = "transaction", [pools.app.users.0] username = "x" pool_mode = "session"
Pooler readPgcat(const std::string& path, std::string_view text) {
  Pooler pooler{"pgcat", path, "6432", {}, {}};
  std::map<std::string, Pool> pools, users;  // by section
  for (const Setting& s : readSections(path, text, true)) {
    if (s.section == "general" && s.key == "port") pooler.port = unquoted(s.value);
    if (!s.section.starts_with("pools.")) continue;
    const std::string rest = s.section.substr(6);
    const std::size_t dot = rest.find('.');
    const std::string database = unquoted(rest.substr(0, dot));
    if (dot == std::string::npos) {
      Pool& pool = pools[database];
      pool.database = database;
      if (s.key == "pool_mode")
        if (const auto mode = poolModeOf(s.value)) pool.mode = *mode, pool.mode_at = s.at;
    } else if (rest.substr(dot + 1).starts_with("users.")) {
      Pool& pool = users[s.section];
      pool.database = database;
      if (s.key == "username") pool.user = unquoted(s.value);
      if (s.key == "pool_mode")
        if (const auto mode = poolModeOf(s.value)) pool.mode = *mode, pool.mode_at = s.at;
    }
  }
  for (auto& [section, pool] : users)
    if (!pool.user.empty() && !pool.mode_at.file.empty()) pooler.pools.push_back(std::move(pool));
  for (auto& [database, pool] : pools) pooler.pools.push_back(std::move(pool));
  return pooler;
}

// Odyssey: listen { port 6432 }  database "app" { user "x" { pool "transaction" } }  database default { user default { … } }
class OdysseyReader {
 public:
  OdysseyReader(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  Pooler read() {
    Pooler pooler{"odyssey", path_, "6432", {}, {}};
    std::vector<std::vector<std::string>> open;  // the words before each open brace
    std::vector<std::string> words;
    for (Token t = next(); !t.text.empty(); t = next()) {
      if (t.text == "{") {
        open.push_back(std::exchange(words, {}));
      } else if (t.text == "}") {
        if (!open.empty()) open.pop_back();
        words.clear();
      } else {
        if (t.line != line_of_words_) words.clear();
        words.push_back(t.text), line_of_words_ = t.line;
        if (words.size() == 2) setting(words, t, open, pooler);
      }
    }
    std::stable_sort(pooler.pools.begin(), pooler.pools.end(), [](const Pool& a, const Pool& b) { return rank(a) < rank(b); });
    return pooler;
  }

 private:
  struct Token {
    std::string text;
    std::uint32_t line = 0, begin = 0, column = 0;
  };

  static int rank(const Pool& p) { return (p.database == "*" ? 2 : 0) + (p.user.empty() ? 1 : 0); }

  void setting(const std::vector<std::string>& words, const Token& t, const std::vector<std::vector<std::string>>& open, Pooler& pooler) {
    const std::string block = open.empty() || open.back().empty() ? "" : open.back()[0];
    if (block == "listen" && words[0] == "port") pooler.port = words[1];
    if (block != "user" || words[0] != "pool" || open.size() < 2 || open[open.size() - 2].size() < 2 || open.back().size() < 2) return;
    const auto mode = poolModeOf(words[1]);
    if (!mode) return;
    const std::string &database = open[open.size() - 2][1], &user = open.back()[1];
    const auto size = static_cast<std::uint32_t>(t.text.size());
    pooler.pools.push_back({database == "default" ? "*" : database, user == "default" ? "" : user, "", "", *mode,
                            {path_, t.line, t.column, t.line, t.column + size, t.begin, t.begin + size}});
  }

  Token next() {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size() - 1);
      if (text_[at_] == '\n') ++line_, line_begin_ = at_ + 1;
      else if (!std::isspace(static_cast<unsigned char>(text_[at_]))) break;
    }
    if (at_ >= text_.size()) return {};
    Token t{"", line_, static_cast<std::uint32_t>(at_), static_cast<std::uint32_t>(at_ - line_begin_ + 1)};
    const char c = text_[at_];
    if (c == '{' || c == '}') {
      t.text = std::string(1, c), ++at_;
    } else if (c == '"') {
      const std::size_t end = std::min(text_.find('"', at_ + 1), text_.size());
      t.text = std::string(text_.substr(at_ + 1, end - at_ - 1));
      at_ = std::min(end + 1, text_.size());
      if (t.text.empty()) t.text = " ";
    } else {
      const std::size_t end = std::min(text_.find_first_of(" \t\r\n{}\"", at_), text_.size());
      t.text = std::string(text_.substr(at_, end - at_));
      at_ = end;
    }
    return t;
  }

  std::string path_;
  std::string_view text_;
  std::size_t at_ = 0, line_begin_ = 0;
  std::uint32_t line_ = 1, line_of_words_ = 0;
};

enum class Syntax { None, Pgbouncer, Pgcat, Odyssey };

Syntax syntaxOf(std::string_view path) {
  std::string name = lowered(path.substr(path.rfind('/') + 1));
  for (const std::string_view ending : {".in", ".j2", ".jinja", ".jinja2", ".tpl", ".tmpl", ".template", ".erb", ".example", ".sample", ".dist"})
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  if (name.ends_with(".ini") && name.find("bouncer") != std::string::npos) return Syntax::Pgbouncer;
  if (name.ends_with(".toml") && name.find("pgcat") != std::string::npos) return Syntax::Pgcat;
  if (name.ends_with(".conf") && name.find("odyssey") != std::string::npos) return Syntax::Odyssey;
  return Syntax::None;
}

}  // namespace

std::optional<PoolMode> poolModeOf(std::string_view word) {
  const auto names = enumNames(EnumTag<PoolMode>{});
  const auto found = std::find(names.begin(), names.end(), lowered(unquoted(word)));
  if (found == names.end()) return std::nullopt;
  return static_cast<PoolMode>(found - names.begin());
}

bool isPoolerName(std::string_view path) { return syntaxOf(path) != Syntax::None || isYamlName(path); }

std::vector<Pooler> readPoolerFile(const std::string& path, std::string_view text) {
  Pooler pooler;
  switch (syntaxOf(path)) {
    case Syntax::Pgbouncer: pooler = readPgbouncer(path, text); break;
    case Syntax::Pgcat: pooler = readPgcat(path, text); break;
    case Syntax::Odyssey: pooler = OdysseyReader(path, text).read(); break;
    case Syntax::None: return {};
  }
  if (pooler.pools.empty()) return {};
  return {std::move(pooler)};
}

std::string unreadPart(const std::string& path, std::string_view text) {
  if (!isYamlName(path) || !namesPooler(text)) return "";
  const std::optional<std::uint32_t> line = yamlErrorLine(text);
  return line ? fmt::format("names a connection pooler, and is no YAML at line {}: nothing is known of a pool there", *line) : "";
}

std::vector<Pooler> readPoolers(const std::string& path, std::string_view text) {
  return isYamlName(path) ? readYamlPoolers(path, text) : readPoolerFile(path, text);
}

}  // namespace pglocklint
