#include "sql/front_end.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "sql/mapped_text.h"
#include "sql/script_reader.h"

namespace pglocklint::sql {

namespace {

class Reader {
 public:
  Reader(const ScannedFile& file, bool everything) : file_(file), everything_(everything), lines_(file.text) {}

  Unit read() {
    unit_.files = {file_.path};
    addFunction(FunctionKind::Script, "");
    homes_[{FunctionKind::Script, ""}] = 0;
    for (std::size_t i = 0; i < file_.script.pieces.size(); ++i) piece(file_.script.pieces[i], file_.relevant[i]);
    // Functions are kept apart while they grow (definitions are appended in between), then put in their places.
    for (auto& own : flows_) {
      own->flow->finish();
      own->flow.reset();
      unit_.functions[own->index] = std::move(own->function);
    }
    unit_.allows = file_.script.allows;
    unit_.not_understood.insert(unit_.not_understood.end(), file_.script.problems.begin(), file_.script.problems.end());
    std::sort(unit_.not_understood.begin(), unit_.not_understood.end());
    return std::move(unit_);
  }

 private:
  struct Own {  // a top-level function and its growing blocks
    Function function;
    std::size_t index = 0;
    std::optional<ScriptFlow> flow;
  };

  std::uint32_t size() const { return static_cast<std::uint32_t>(file_.text.size()); }

  Own& addFunction(FunctionKind kind, const std::string& name) {
    auto own = std::make_unique<Own>();
    own->function.kind = kind, own->function.name = name, own->function.language = "sql";
    own->function.range = lines_.range(0, size());
    own->function.body_range = own->function.range;
    own->index = unit_.functions.size();
    own->flow.emplace(own->function);
    unit_.functions.emplace_back();
    flows_.push_back(std::move(own));
    return *flows_.back();
  }

  // The function that a piece belongs to: the script, its down section, or a named query of its own.
  Own& home(const Piece& p) {
    const FunctionKind kind = p.down ? FunctionKind::DownScript : p.named_query.empty() ? FunctionKind::Script : FunctionKind::NamedQuery;
    const auto [known, fresh] = homes_.try_emplace({kind, p.named_query.str()}, flows_.size());
    if (!fresh) return *flows_[known->second];
    Own& own = addFunction(kind, p.named_query);
    own.function.range = lines_.range(p.begin, p.end);
    own.function.body_range = own.function.range;
    return own;
  }

  // An INSERT that names no query reads nothing.
  static std::string headOf(const Piece& p, std::string_view text) {
    if (!std::string_view(p.head).starts_with("INSERT") || text.size() > 2000) return p.head;
    constexpr std::string_view kSelect = "select";
    const auto folded = [](char a, char b) { return (a | 0x20) == b; };
    return std::search(text.begin(), text.end(), kSelect.begin(), kSelect.end(), folded) == text.end() ? "INSERT VALUES" : std::string(p.head);
  }

  void piece(const Piece& p, bool relevant) {
    if (p.kind == PieceKind::CopyData) return;
    const std::string_view text = std::string_view(file_.text).substr(p.begin, p.end - p.begin);
    ScriptFlow& flow = *home(p).flow;
    if (p.kind == PieceKind::MetaCommand) return reader_.command(text, lines_.range(p.begin, p.end), flow);
    const SourceRange range = lines_.range(p.begin, p.end);
    // What \; joins is one message to the server.
    if (p.joined && !joined_) flow.add(SessionOp{SessionVerb::StringBegin, range, ""});
    statement(p, relevant, text, range, flow);
    if (joined_ && !p.joined) flow.add(SessionOp{SessionVerb::StringEnd, range, ""});
    joined_ = p.joined;
  }

  void statement(const Piece& p, bool relevant, std::string_view text, const SourceRange& range, ScriptFlow& flow) {
    ++unit_.statements;
    if (!relevant && !everything_) return flow.addUnparsed(range, headOf(p, text));
    ++unit_.parsed;
    reader_.statement(p, MappedText(std::string(text), p.begin), flow);
  }

  const ScannedFile& file_;
  bool everything_;
  bool joined_ = false;  // the last statement, with the next one
  LineIndex lines_;
  Unit unit_;
  ScriptReader reader_{unit_, lines_};
  std::vector<std::unique_ptr<Own>> flows_;
  std::map<std::pair<FunctionKind, std::string>, std::size_t> homes_;  // by kind and name, indexes into flows_
};

}  // namespace

std::string includedFile(const std::string& path, std::string_view command, const std::function<bool(const std::string&)>& exists) {
  namespace fs = std::filesystem;
  if (!command.starts_with("\\i")) return "";
  const auto [name, target] = metaCommand(command);
  const bool relative = name == "ir" || name == "include_relative";
  if ((!relative && name != "i" && name != "include") || target.empty() || target.front() == '/') return "";
  const std::string beside = (fs::path(path).parent_path() / target).lexically_normal().generic_string();
  const std::string from_root = fs::path(target).lexically_normal().generic_string();
  for (const std::string& candidate : relative ? std::vector{beside} : std::vector{from_root, beside})
    if (!candidate.starts_with("..") && exists(candidate)) return candidate;
  return "";
}

Unit readSql(const ScannedFile& file, bool everything) { return Reader(file, everything).read(); }

}  // namespace pglocklint::sql
