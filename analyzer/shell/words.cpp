#include "shell/words.h"

#include <algorithm>

namespace pglocklint::shell {

namespace {

enum class Quoting { None, Double, Single, Ansi, HereDocument };

// Builds one word from the bytes of its node; children say where expansions and quotes stand, everything else is text.
class Expander {
 public:
  Expander(const Source& source, const Variables& variables) : source_(source), variables_(variables) {}

  void node(const Node& n) {
    if (n.is("raw_string")) return bytes(n.begin + 1, std::max(n.begin + 1, n.end - 1), Quoting::Single);
    if (n.is("ansi_c_string")) return bytes(n.begin + 2, std::max(n.begin + 2, n.end - 1), Quoting::Ansi);
    if (n.is("string") || n.is("translated_string")) return inner(n, n.begin + (n.is("string") ? 1 : 2), n.end - 1, Quoting::Double);
    if (n.is("heredoc_body")) return inner(n, n.begin, n.end, Quoting::HereDocument);
    if (n.is("simple_expansion") || n.is("expansion")) return expansion(n);
    if (n.is("command_substitution") && tellsTime(n)) return unknown("EPOCHREALTIME", n);
    if (n.is("command_substitution") || n.is("process_substitution") || n.is("arithmetic_expansion")) return unknown("substitution", n);
    if (n.is("concatenation") || n.is("command_name")) {
      for (const Node& c : n.children) node(c);
      return;
    }
    bytes(n.begin, n.end, Quoting::None);
  }

  Word take() { return std::move(word_); }

  void word(const Node& n) {
    whole_ = n.is("string") && n.children.size() == 3 && n.children[1].begin == n.begin + 1 && n.children[1].end + 1 == n.end ? &n.children[1] : &n;
    node(n);
  }

 private:
  // From `begin` to `end`: text as it stands, but for the expansions among the node's children.
  void inner(const Node& n, std::uint32_t begin, std::uint32_t end, Quoting quoting) {
    std::uint32_t at = begin;
    for (const Node& c : n.children) {
      const bool expands = c.is("simple_expansion") || c.is("expansion") || c.is("command_substitution") || c.is("arithmetic_expansion");
      if (!expands || c.begin < at) continue;
      bytes(at, c.begin, quoting);
      node(c);
      at = c.end;
    }
    if (at < end) bytes(at, end, quoting);
  }

  void bytes(std::uint32_t begin, std::uint32_t end, Quoting quoting) {
    const std::string& text = source_.text.text();
    end = std::min<std::uint32_t>(end, static_cast<std::uint32_t>(text.size()));
    for (std::uint32_t i = begin, from = begin; i <= end; ++i) {
      const bool escape = i + 1 < end && text[i] == '\\' && escapes(text[i + 1], quoting);
      // The grammar takes $$ for text; to the shell it is its process id.
      const bool process_id = i + 1 < end && text[i] == '$' && text[i + 1] == '$' && quoting != Quoting::Single && quoting != Quoting::Ansi;
      if (i < end && !escape && !process_id) continue;
      if (i > from) word_.text.append(std::string_view(text).substr(from, i - from), file(from));
      if (i == end) return;
      if (process_id) {
        putIn("${$}", i, i + 2);
        word_.known = false;
        from = ++i + 1;
        continue;
      }
      const char c = text[++i];
      from = i + 1;
      if (c == '\n' && quoting != Quoting::Ansi) continue;  // a continued line
      const char meant = quoting == Quoting::Ansi && c == 'n' ? '\n' : quoting == Quoting::Ansi && c == 't' ? '\t' : c;
      word_.text.append(std::string_view(&meant, 1), file(i));
    }
  }

  static bool escapes(char next, Quoting quoting) {
    switch (quoting) {
      case Quoting::None: return true;
      case Quoting::Double: return next == '"' || next == '\\' || next == '$' || next == '`' || next == '\n';
      case Quoting::HereDocument: return next == '\\' || next == '$' || next == '`' || next == '\n';
      case Quoting::Ansi: return next == '\'' || next == '"' || next == '\\' || next == 'n' || next == 't';
      case Quoting::Single: return false;
    }
    return false;
  }

  // $NAME, ${NAME}; with an operator (${NAME:-x}) only the name is of use.
  void expansion(const Node& n) {
    const Node* name = n.child("variable_name");
    if (!name) name = n.child("special_variable_name");
    if (!name) return unknown("expansion", n);
    const std::string_view written = std::string_view(source_.text.text()).substr(name->begin, name->end - name->begin);
    const bool plain = n.is("simple_expansion") || (n.children.size() == 3 && n.children[0].is("${"));
    const Word* value = plain ? variables_(written) : nullptr;
    if (!value) return unknown(written, n);
    word_.known &= value->known;
    // A word that is nothing but this stands where its text is written; a part of a word stands where it is put in.
    if (whole_ == &n) word_.text.append(value->text);
    else putIn(value->str(), n.begin, n.end);
  }

  void unknown(std::string_view name, const Node& n) {
    putIn("${" + std::string(name) + "}", n.begin, n.end);
    word_.known = false;
  }

  // $(date +%s), $(date +%s%N): the clock with its full resolution.
  bool tellsTime(const Node& n) const {
    const Node* command = n.child("command");
    const Node* name = command == nullptr ? nullptr : command->child("command_name");
    if (name == nullptr || written(*name) != "date") return false;
    return std::any_of(command->children.begin(), command->children.end(), [&](const Node& c) {
      const std::string_view argument = written(c);
      return argument.find('+') != std::string_view::npos && (argument.find("%s") != std::string_view::npos || argument.find("%N") != std::string_view::npos);
    });
  }
  std::string_view written(const Node& n) const { return std::string_view(source_.text.text()).substr(n.begin, n.end - n.begin); }

  // Text that is not written here: from its first to its last byte it is what stands from `begin` to `end`.
  void putIn(const std::string& text, std::uint32_t begin, std::uint32_t end) {
    if (text.empty()) return;
    for (std::size_t i = 0; i + 1 < text.size(); ++i) word_.text.append(std::string_view(text).substr(i, 1), file(begin));
    word_.text.append(std::string_view(text).substr(text.size() - 1), file(end - 1));
  }

  std::uint32_t file(std::uint32_t offset) const { return source_.text.toFile(offset); }

  const Source& source_;
  const Variables& variables_;
  const Node* whole_ = nullptr;
  Word word_;
};

}  // namespace

Source parseSource(sql::MappedText text) {
  Source s;
  s.syntax = parseShell(text.text());
  s.text = std::move(text);
  return s;
}

Word expand(const Source& source, const Node& node, const Variables& variables) {
  Expander e(source, variables);
  e.word(node);
  return e.take();
}

Word literal(const Source& source, const Node& node) {
  return {source.text.substr(node.begin, node.end - node.begin), true};
}

std::vector<Word> splitWords(const Word& word) {
  constexpr std::string_view kBlank = " \t\r\n";
  std::vector<Word> words;
  const std::string& text = word.str();
  for (std::size_t at = text.find_first_not_of(kBlank); at != std::string::npos;) {
    std::size_t end = text.find_first_of(kBlank, at);
    if (end == std::string::npos) end = text.size();
    Word w;
    w.text = word.text.substr(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end - at));
    w.known = w.str().find("${") == std::string::npos || word.known;
    words.push_back(std::move(w));
    at = text.find_first_not_of(kBlank, end);
  }
  return words;
}

}  // namespace pglocklint::shell
