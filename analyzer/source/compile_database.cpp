#include "source/compile_database.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "source/discover.h"
#include "source/read_file.h"

namespace pglocklint {
namespace {

namespace fs = std::filesystem;

constexpr int kMostResponseFiles = 16;
constexpr std::size_t kMostFlags = 20000;

// Flags with an argument, in the same word or the next.
constexpr std::array<std::string_view, 7> kWithArgument{"-I", "-isystem", "-iquote", "-idirafter", "-D", "-U", "-x"};

// Flags that stand alone. What the language means depends on them, and nothing else does.
constexpr std::array<std::string_view, 22> kAlone{"-pthread",       "-ansi",           "-m32",
                                                  "-m64",           "-fexceptions",    "-fno-exceptions",
                                                  "-frtti",         "-fno-rtti",       "-fchar8_t",
                                                  "-fno-char8_t",   "-fshort-enums",   "-fno-short-enums",
                                                  "-fsigned-char",  "-funsigned-char", "-fms-extensions",
                                                  "-fcoroutines",   "-fpermissive",    "-fno-operator-names",
                                                  "-ffreestanding", "-fno-builtin",    "-fgnu89-inline",
                                                  "-fwrapv"};

// Flags that could load, run or write something, or pull a file's text into messages: named in the coverage.
constexpr std::array<std::string_view, 12> kHarmful{
    "-fplugin", "-Xclang", "-load",     "-include-pch", "-Xpreprocessor",    "-Xlinker",
    "-B",       "-specs",  "--sysroot", "-ivfsoverlay", "-fmodule-map-file", "-fprofile"};

// Flags that name a file in the same word.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kJoined{
    {{"--include=", "-include"}, {"-include", "-include"}, {"--imacros=", "-imacros"}, {"-imacros", "-imacros"}, {"-o", "-o"}}};

// Where the system keeps headers.
constexpr std::array<const char*, 3> kSystemRoots{"/usr/include", "/usr/local/include", "/usr/lib/gcc"};

bool isSource(const std::string& path) {
  const FileKind kind = fileKind(path);
  return kind == FileKind::Sql || kind == FileKind::Cpp;
}

bool startsWithOneOf(std::string_view s, const auto& list) {
  return std::any_of(list.begin(), list.end(), [&](std::string_view p) { return s.starts_with(p); });
}

bool below(const fs::path& path, const std::string& folder) {
  if (folder.empty()) return false;
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path, error), base = fs::weakly_canonical(folder, error);
  const auto [end, ignored] = std::mismatch(base.begin(), base.end(), real.begin(), real.end());
  return !error && end == base.end();
}

class FlagFilter {
 public:
  FlagFilter(CompileCommand& out, const CompileFiles& files) : out_(out), files_(files) {}

  void run(const std::vector<std::string>& arguments) {
    add(arguments);
    for (const auto& [flag, path] : headers_) {
      const std::string header = files_.header ? files_.header(path, folders_) : std::string();
      if (header.empty()) refuse(flag + " " + path);
      else  // not by the driver, which would rather load a precompiled file that lies beside it
        for (const std::string& word : {std::string("-Xclang"), flag, std::string("-Xclang"), header}) out_.flags.push_back(word);
    }
  }

 private:
  void add(const std::vector<std::string>& arguments) {
    for (std::size_t i = 0; i < arguments.size() && out_.flags.size() < kMostFlags; ++i) {
      const std::string& a = arguments[i];
      if (a.size() > 1 && a[0] == '@') {
        responseFile(a.substr(1));
        continue;
      }
      const auto whole = std::find(kWithArgument.begin(), kWithArgument.end(), a);
      if (whole != kWithArgument.end()) {
        if (i + 1 < arguments.size() && allowed(a, arguments[i + 1]))
          out_.flags.push_back(a), out_.flags.push_back(arguments[i + 1]);
        if (i + 1 < arguments.size() && a.starts_with("-i")) folders_.push_back(arguments[i + 1]);
        if (i + 1 < arguments.size() && a == "-I") folders_.push_back(arguments[i + 1]);
        ++i;
        continue;
      }
      const std::string_view file_flag = a == "--include" ? "-include" : a == "--imacros" ? "-imacros" : std::string_view(a);
      if (file_flag == "-include" || file_flag == "-imacros" || file_flag == "-o") {
        if (i + 1 < arguments.size()) named(std::string(file_flag), arguments[i + 1]);
        ++i;
        continue;
      }
      if (const auto flag = std::find_if(kJoined.begin(), kJoined.end(), [&](const auto& f) { return a.starts_with(f.first) && a != "-include-pch"; });
          flag != kJoined.end()) {
        named(std::string(flag->second), a.substr(flag->first.size()));
        continue;
      }
      const bool joined = std::any_of(kWithArgument.begin(), kWithArgument.end(),
                                      [&](std::string_view w) { return w.size() == 2 && w != "-x" && a.starts_with(w); });
      if (joined || a.starts_with("-std=") || std::find(kAlone.begin(), kAlone.end(), a) != kAlone.end()) {
        if (a.starts_with("-I")) folders_.push_back(a.substr(2));
        out_.flags.push_back(a == "-std=gnu++23" || a == "-std=c++26" ? "-std=c++23" : a);
        continue;
      }
      if (startsWithOneOf(a, kHarmful)) refuse(a.substr(0, a.find('=')));
      if (a == "-Xclang" || a == "-Xpreprocessor" || a == "-Xlinker" || a == "-MF" || a == "-MT" || a == "-MQ" || a == "-arch")
        ++i;
    }
  }

  // A file that the command names: a header to include first, or where its output goes.
  void named(const std::string& flag, const std::string& path) {
    if (flag != "-o") headers_.emplace_back(flag, path);
    else if (isSource(path)) refuse("-o " + path);
  }

  void refuse(std::string what) {
    if (std::find(out_.refused.begin(), out_.refused.end(), what) == out_.refused.end()) out_.refused.push_back(std::move(what));
  }

  static bool allowed(std::string_view flag, const std::string& argument) {
    return flag != "-x" || argument == "c" || argument == "c++" || argument == "c-header" || argument == "c++-header";
  }

  void responseFile(const std::string& path) {
    if (++responses_ > kMostResponseFiles || !seen_.insert(path).second) return;
    if (const auto text = files_.response(path))
      add(splitCommand(*text));
    else
      refuse("@" + path);
  }

  CompileCommand& out_;
  const CompileFiles& files_;
  std::set<std::string> seen_;
  std::vector<std::pair<std::string, std::string>> headers_;  // -include or -imacros, and the file
  std::vector<std::string> folders_;                          // where headers are looked for
  int responses_ = 0;
};

}  // namespace

std::vector<std::string> splitCommand(std::string_view command) {
  std::vector<std::string> words;
  std::string word;
  bool any = false;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote == '\'') {
      if (c == '\'')
        quote = 0;
      else
        word += c;
    } else if (c == '\\' && i + 1 < command.size()) {
      word += command[++i], any = true;
    } else if (quote == '"') {
      if (c == '"')
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c, any = true;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (any) words.push_back(std::move(word));
      word.clear(), any = false;
    } else {
      word += c, any = true;
    }
  }
  if (any) words.push_back(std::move(word));
  return words;
}

CompileCommand harmlessFlags(const std::vector<std::string>& arguments, const std::string& folder, const CompileFiles& files) {
  CompileCommand out;
  out.folder = folder;
  FlagFilter(out, files).run(arguments);
  return out;
}

CompileDatabase CompileDatabase::parse(std::string_view text, const std::string& root, const std::string& build,
                                       std::string& error) {
  CompileDatabase database;
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array()) {
    error = "it is no JSON array";
    return database;
  }
  const auto stringOf = [](const nlohmann::json& entry, const char* name) {
    const auto at = entry.find(name);
    return at != entry.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  for (const auto& entry : json) {
    if (!entry.is_object()) continue;
    const std::string file = stringOf(entry, "file");
    if (file.empty()) continue;
    const fs::path folder = fs::path(build) / stringOf(entry, "directory");
    std::vector<std::string> arguments;
    if (const auto list = entry.find("arguments"); list != entry.end() && list->is_array()) {
      for (const auto& a : *list)
        if (a.is_string()) arguments.push_back(a.get<std::string>());
    } else {
      arguments = splitCommand(stringOf(entry, "command"));
    }
    if (!arguments.empty()) arguments.erase(arguments.begin());
    CompileFiles files;
    files.response = [&](const std::string& path) -> std::optional<std::string> {
      const fs::path full = folder / path;
      if (!below(full, root) && !below(full, build)) return std::nullopt;
      FileText read = readFile(full.string());
      if (!read.error.empty()) return std::nullopt;
      return std::move(read.text);
    };
    files.header = [&](const std::string& path, const std::vector<std::string>& folders) -> std::string {
      std::vector<fs::path> places{folder / path};
      for (const std::string& f : folders) places.push_back(folder / f / path);
      std::error_code error;
      const auto there = std::find_if(places.begin(), places.end(), [&](const fs::path& p) { return fs::is_regular_file(p, error); });
      if (there == places.end()) return {};
      const bool readable = below(*there, root) || below(*there, build) ||
                            std::any_of(kSystemRoots.begin(), kSystemRoots.end(), [&](const char* system) { return below(*there, system); });
      return readable ? fs::weakly_canonical(*there, error).string() : std::string();
    };
    std::error_code ignored;
    const std::string path = fs::weakly_canonical(folder / file, ignored).string();
    database.commands_.try_emplace(path, harmlessFlags(arguments, folder.lexically_normal().string(), files));
  }
  return database;
}

const CompileCommand* CompileDatabase::of(const std::string& absolute) const {
  std::error_code ignored;
  const auto at = commands_.find(fs::weakly_canonical(absolute, ignored).string());
  return at == commands_.end() ? nullptr : &at->second;
}

}  // namespace pglocklint
