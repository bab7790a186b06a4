#include "source/yaml.h"

#include <yaml.h>

#include <algorithm>
#include <map>
#include <memory>

namespace pglocklint {
namespace {

constexpr int kDeepest = 100;
constexpr std::size_t kMostNodes = 200'000;  // aliases repeat what they name

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { yaml_parser_delete(&parser_); }

  std::vector<YamlNode> read() {
    std::vector<YamlNode> documents;
    for (Event e = next(); e && e->type != YAML_STREAM_END_EVENT; e = next()) {
      if (e->type == YAML_DOCUMENT_START_EVENT) anchors_.clear();
      if (e->type != YAML_SCALAR_EVENT && e->type != YAML_SEQUENCE_START_EVENT && e->type != YAML_MAPPING_START_EVENT) continue;
      YamlNode root = node(*e, 0);
      if (!failed_) documents.push_back(std::move(root));
    }
    return documents;
  }

  std::optional<std::uint32_t> errorLine() const { return failed_ ? std::optional(error_line_) : std::nullopt; }

 private:
  struct Delete {
    void operator()(yaml_event_t* e) const { yaml_event_delete(e), delete e; }
  };
  using Event = std::unique_ptr<yaml_event_t, Delete>;

  // Null at an error, and from then on.
  Event next() {
    if (failed_) return nullptr;
    Event e(new yaml_event_t());
    failed_ = yaml_parser_parse(&parser_, e.get()) == 0 || ++nodes_ > kMostNodes;
    if (failed_) error_line_ = static_cast<std::uint32_t>(parser_.problem_mark.line + 1);
    return failed_ ? nullptr : std::move(e);
  }

  // libyaml counts characters. Called for places that do not go back.
  std::uint32_t byteOf(std::size_t index) {
    for (; counted_ < index && at_ < text_.size(); ++counted_) {
      if (text_[at_++] == '\n') line_begin_ = at_;
      while (at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) & 0xC0) == 0x80) ++at_;
    }
    return static_cast<std::uint32_t>(at_);
  }

  YamlNode node(const yaml_event_t& e, int depth) {
    YamlNode n;
    if (e.type != YAML_ALIAS_EVENT) {  // events come in the order of the text
      n.begin = byteOf(e.start_mark.index), n.column = n.begin - static_cast<std::uint32_t>(line_begin_) + 1;
      n.end = byteOf(e.end_mark.index);
      n.line = static_cast<std::uint32_t>(e.start_mark.line + 1);
    }
    if (depth > kDeepest) failed_ = true, error_line_ = n.line;
    const unsigned char* anchor = nullptr;
    switch (e.type) {
      case YAML_SCALAR_EVENT:
        anchor = e.data.scalar.anchor;
        n.kind = YamlNode::Kind::Scalar;
        n.text.assign(reinterpret_cast<const char*>(e.data.scalar.value), e.data.scalar.length);
        break;
      case YAML_SEQUENCE_START_EVENT:
        anchor = e.data.sequence_start.anchor;
        n.kind = YamlNode::Kind::Sequence;
        for (Event item = next(); item && item->type != YAML_SEQUENCE_END_EVENT; item = next()) n.items.push_back(node(*item, depth + 1));
        break;
      case YAML_MAPPING_START_EVENT:
        anchor = e.data.mapping_start.anchor;
        n.kind = YamlNode::Kind::Mapping;
        for (Event key = next(); key && key->type != YAML_MAPPING_END_EVENT; key = next()) {
          const YamlNode name = node(*key, depth + 1);
          if (Event value = next()) field(n, name.text, node(*value, depth + 1));
        }
        break;
      case YAML_ALIAS_EVENT: {
        const auto at = anchors_.find(reinterpret_cast<const char*>(e.data.alias.anchor));
        if (at != anchors_.end()) n = at->second, nodes_ += size(n);
        return n;
      }
      default: break;
    }
    if (anchor != nullptr) anchors_[reinterpret_cast<const char*>(anchor)] = n;
    return n;
  }

  // A field that is written stands before those that `<<` brings in.
  void field(YamlNode& mapping, const std::string& name, YamlNode value) {
    if (name != "<<") return void(mapping.fields.emplace_back(name, std::move(value)));
    std::vector<YamlNode> merged;
    if (value.kind == YamlNode::Kind::Sequence) merged = std::move(value.items);
    else merged.push_back(std::move(value));
    for (YamlNode& m : merged)
      for (auto& f : m.fields)
        if (mapping[f.first].kind == YamlNode::Kind::Null) mapping.fields.push_back(std::move(f));
  }

  static std::size_t size(const YamlNode& n) {
    std::size_t all = 1;
    for (const YamlNode& i : n.items) all += size(i);
    for (const auto& f : n.fields) all += size(f.second);
    return all;
  }

  std::string_view text_;
  std::size_t counted_ = 0, at_ = 0, line_begin_ = 0;  // characters, and the byte that they lead to
  yaml_parser_t parser_;
  std::map<std::string, YamlNode> anchors_;
  std::size_t nodes_ = 0;
  bool failed_ = false;
  std::uint32_t error_line_ = 0;
};

}  // namespace

const YamlNode& YamlNode::operator[](std::string_view key) const {
  static const YamlNode none;
  // A key written later wins over one that was merged before it.
  const auto at = std::find_if(fields.rbegin(), fields.rend(), [&](const auto& f) { return f.first == key; });
  return at == fields.rend() ? none : at->second;
}

std::vector<YamlNode> readYaml(std::string_view text) { return Reader(text).read(); }

std::optional<std::uint32_t> yamlErrorLine(std::string_view text) {
  Reader reader(text);
  reader.read();
  return reader.errorLine();
}

}  // namespace pglocklint
