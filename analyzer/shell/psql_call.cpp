#include "shell/psql_call.h"

#include <algorithm>
#include <array>
#include <optional>

namespace pglocklint::shell {

namespace {

// psql(1): options with an argument. Long ones take it after '=' or as the next word.
constexpr std::string_view kShortWithArgument = "cdfhLopPRFTUv";
constexpr std::array<std::string_view, 13> kLongWithArgument = {
    "command", "dbname", "file", "host", "log-file", "output", "port", "pset", "record-separator", "field-separator",
    "table-attr", "username", "variable"};

// Commands that run the command that follows among their arguments.
constexpr std::array<std::string_view, 27> kRunners = {
    "sudo", "doas", "su-exec", "gosu", "runuser", "setpriv", "chroot", "env", "exec", "command", "time", "timeout", "nice", "ionice",
    "nohup", "setsid", "stdbuf", "flock", "docker", "docker-compose", "podman", "podman-compose", "nerdctl", "kubectl", "oc", "ssh",
    "xargs"};
constexpr std::array<std::string_view, 7> kShells = {"sh", "bash", "dash", "ash", "ksh", "zsh", "busybox"};

struct Parameter {
  std::string_view letter, option, name;
};
constexpr Parameter kParameters[] = {{"d", "dbname", "dbname"}, {"h", "host", "host"}, {"p", "port", "port"}, {"U", "username", "user"}};

template <class List>
bool contains(const List& list, std::string_view s) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

std::string_view baseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

Word rest(const Word& word, std::size_t from) {
  Word w;
  w.text = word.text.substr(static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(word.str().size() - from));
  w.known = word.known;
  return w;
}

bool unknownWhole(const Word& w) { return !w.known && w.str().starts_with("${"); }

class Arguments {
 public:
  explicit Arguments(const std::vector<Word>& words) : words_(words) {}

  PsqlCall read() {
    for (; at_ < words_.size(); ++at_) {
      const Word& word = words_[at_];
      const std::string& s = word.str();
      if (s == "--") continue;
      if (s.starts_with("--")) longOption(word);
      else if (s.size() > 1 && s[0] == '-') shortOptions(word);
      else positional(word);
    }
    const bool any_file_or_string = !call_.inputs.empty() || call_.reads_input;
    if (!any_file_or_string) call_.reads_input = true;
    return std::move(call_);
  }

 private:
  void longOption(const Word& word) {
    const std::string& s = word.str();
    const std::size_t equals = s.find('=');
    std::string name = s.substr(2, equals == std::string::npos ? equals : equals - 2);
    if (name == "set") name = "variable";
    if (name == "single-transaction") call_.single_transaction = true;
    if (!contains(kLongWithArgument, name)) return;
    if (equals != std::string::npos) option(name, rest(word, equals + 1));
    else if (const Word* next = nextWord()) option(name, *next);
  }

  // -qAt1f x.sql: letters, then the argument of the last one, attached or as the next word.
  void shortOptions(const Word& word) {
    const std::string& s = word.str();
    for (std::size_t i = 1; i < s.size(); ++i) {
      if (s[i] == '1') call_.single_transaction = true;
      if (kShortWithArgument.find(s[i]) == std::string_view::npos) continue;
      std::string name(1, s[i]);
      if (i + 1 < s.size()) option(name, rest(word, i + 1));
      else if (const Word* next = nextWord()) option(name, *next);
      return;
    }
  }

  const Word* nextWord() { return at_ + 1 < words_.size() ? &words_[++at_] : nullptr; }

  void option(std::string_view name, const Word& value) {
    if (name == "c" || name == "command") {
      call_.inputs.push_back({InputKind::String, value});
    } else if (name == "f" || name == "file") {
      if (value.str() == "-" || value.str() == "/dev/stdin") call_.reads_input = true, call_.input_at = call_.inputs.size();
      else call_.inputs.push_back({InputKind::File, value});
    } else if (name == "v" || name == "variable") {
      if (value.str().starts_with("AUTOCOMMIT")) call_.autocommit = false;
      else if (const std::size_t equals = value.str().find('='); equals != std::string::npos)
        call_.variables.emplace_back(value.str().substr(0, equals), rest(value, equals + 1));
    } else if (const auto parameter = std::find_if(std::begin(kParameters), std::end(kParameters),
                                                   [&](const Parameter& p) { return name == p.letter || name == p.option; });
               parameter != std::end(kParameters)) {
      call_.connection[std::string(parameter->name)] = value.str();
    }
  }

  // "$DATABASE_URL" is a database; an array or "$@" may hold anything.
  void positional(const Word& word) {
    const std::string& s = word.str();
    if (unknownWhole(word) && (s == "${@}" || s == "${*}" || s.find("OPT") != std::string::npos || s.find("ARG") != std::string::npos ||
                               s.find("opts") != std::string::npos || s.find("args") != std::string::npos || s == "${expansion}"))
      call_.options_known = false;
    else if (!call_.connection.contains("dbname")) call_.connection["dbname"] = s;
    else call_.connection.try_emplace("user", s);
  }

  const std::vector<Word>& words_;
  std::size_t at_ = 0;
  PsqlCall call_;
};

}  // namespace

std::string connectionString(const std::map<std::string, std::string>& parameters) {
  const auto value = [&](const char* name) {
    const auto found = parameters.find(name);
    return found == parameters.end() ? std::string() : found->second;
  };
  // A value with blanks stands in quotes.
  const auto add = [](std::string& text, const std::string& name, const std::string& value) {
    const bool quotes = value.find_first_of(" '\\") != std::string::npos;
    text += (text.empty() ? "" : " ") + name + "=" + (quotes ? "'" : "");
    for (const char c : value) (c == '\'' || c == '\\') ? text += '\\', text += c : text += c;
    text += quotes ? "'" : "";
  };
  const std::string whole = value("dbname");
  const bool keywords = whole.find("://") == std::string::npos && whole.find('=') != std::string::npos;
  if (parameters.size() == 1 && !whole.empty()) return whole;
  if (whole.find("://") != std::string::npos && !parameters.contains("options") && !parameters.contains("target_session_attrs")) return whole;
  std::string text = keywords ? whole : "";
  for (const std::string name : {"host", "port", "dbname", "user", "options", "target_session_attrs"})
    if (const auto it = parameters.find(name); it != parameters.end() && !(keywords && name == "dbname")) add(text, name, it->second);
  return text;
}

PsqlCall readPsqlCall(const std::vector<Word>& words) { return Arguments(words).read(); }

std::size_t findPsql(const std::vector<Word>& words) {
  if (words.empty()) return 0;
  const auto isPsql = [](const Word& w) { return baseName(w.str()) == "psql"; };
  if (isPsql(words[0])) return 0;
  if (!contains(kRunners, baseName(words[0].str()))) return words.size();
  const auto found = std::find_if(words.begin() + 1, words.end(), isPsql);
  // A container that is only called psql.
  if (found != words.end() && std::prev(found)->str() == "--name") return words.size();
  return static_cast<std::size_t>(found - words.begin());
}

std::size_t findNestedScript(const std::vector<Word>& words) {
  if (words.size() < 2) return words.size();
  const std::string_view first = baseName(words[0].str());
  if (first == "ssh") {  // ssh [options] host 'script'
    const Word& last = words.back();
    return last.str().find(' ') != std::string::npos ? words.size() - 1 : words.size();
  }
  const bool runs = contains(kRunners, first) || contains(kShells, first) || first == "su" || first == "eval";
  if (!runs) return words.size();
  if (first == "eval") return words.size() == 2 ? 1 : words.size();
  bool shell = contains(kShells, first) || first == "su" || first == "runuser";
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    const std::string& s = words[i].str();
    shell |= contains(kShells, baseName(s)) || s == "su";
    if (shell && s.size() > 1 && s[0] == '-' && s[1] != '-' && s.back() == 'c') return i + 1;
  }
  return words.size();
}

}  // namespace pglocklint::shell
