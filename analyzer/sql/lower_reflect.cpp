// What protobuf's own descriptors tell: children of any message, without a list of node types.
#include <algorithm>

#include "model/lock_function.h"
#include "sql/lower_tree.h"
#include "sql/types.h"

namespace pglocklint::sql {
namespace {

template <class T>
const T& field(const ProtobufCMessage& m, unsigned offset) {
  return *reinterpret_cast<const T*>(reinterpret_cast<const char*>(&m) + offset);
}

// The message children of `m`, appended in reverse order (for a stack).
void pushChildren(const ProtobufCMessage& m, std::vector<const ProtobufCMessage*>& stack) {
  const std::size_t base = stack.size();
  if (m.descriptor == &pg_query__node__descriptor) {  // a Node is one big union: its member lies where every member lies
    if (const auto* content = contentOf(reinterpret_cast<const Node*>(&m))) stack.push_back(content);
    return;
  }
  for (unsigned i = 0; i < m.descriptor->n_fields; ++i) {
    const ProtobufCFieldDescriptor& f = m.descriptor->fields[i];
    if (f.type != PROTOBUF_C_TYPE_MESSAGE) continue;
    if (f.label == PROTOBUF_C_LABEL_REPEATED) {
      const auto n = field<std::size_t>(m, f.quantifier_offset);
      const auto* items = field<const ProtobufCMessage* const*>(m, f.offset);
      for (std::size_t k = 0; k < n; ++k) stack.push_back(items[k]);
    } else {
      const bool absent = (f.flags & PROTOBUF_C_FIELD_FLAG_ONEOF) && field<std::uint32_t>(m, f.quantifier_offset) != f.id;
      const auto* child = absent ? nullptr : field<const ProtobufCMessage*>(m, f.offset);
      if (child) stack.push_back(child);
    }
  }
  std::reverse(stack.begin() + static_cast<std::ptrdiff_t>(base), stack.end());
}

}  // namespace

const ProtobufCMessage* contentOf(const Node* node) {
  if (!node || node->node_case == PG_QUERY__NODE__NODE__NOT_SET) return nullptr;
  return reinterpret_cast<const ProtobufCMessage*>(node->alias);
}

void forEachMessage(const ProtobufCMessage& root, const std::function<bool(const ProtobufCMessage&)>& visit) {
  std::vector<const ProtobufCMessage*> stack{&root};
  while (!stack.empty()) {
    const ProtobufCMessage* m = stack.back();
    stack.pop_back();
    if (visit(*m)) pushChildren(*m, stack);
  }
}

int locationOf(const ProtobufCMessage& message) {
  if (message.descriptor == &pg_query__node__descriptor) return -1;
  const ProtobufCFieldDescriptor* f = protobuf_c_message_descriptor_get_field_by_name(message.descriptor, "location");
  return f && f->type == PROTOBUF_C_TYPE_INT32 ? field<std::int32_t>(message, f->offset) : -1;
}

int firstLocation(const ProtobufCMessage& message) {
  int first = -1;
  forEachMessage(message, [&](const ProtobufCMessage& m) {
    const int location = locationOf(m);
    if (location >= 0 && (first < 0 || location < first)) first = location;
    return true;
  });
  return first;
}

std::string_view stringOf(const Node* node) {
  return node && node->node_case == PG_QUERY__NODE__NODE_STRING && node->string->sval ? node->string->sval : std::string_view{};
}

std::vector<std::string> stringsOf(NodeList nodes) {
  std::vector<std::string> strings;
  for (const Node* n : nodes) strings.emplace_back(stringOf(n));
  return strings;
}

bool isLockCall(const PgQuery__FuncCall& call) {
  if (call.n_funcname == 0 || call.n_funcname > 2 || !findLockFunction(stringOf(call.funcname[call.n_funcname - 1])))
    return false;
  return call.n_funcname == 1 || stringOf(call.funcname[0]) == "pg_catalog";
}

// The length of a bit string type: it decides the value of the cast. (bit without a length is bit(1); the lengths and scales of
// other types change no key.)
std::string bitLength(const PgQuery__TypeName& type, std::string_view name) {
  if ((name != "bit" && name != "bit varying") || type.n_typmods != 1) return {};
  const Node* n = type.typmods[0];
  if (n->node_case != PG_QUERY__NODE__NODE_A_CONST || n->a_const->val_case != PG_QUERY__A__CONST__VAL_IVAL) return {};
  return "(" + std::to_string(n->a_const->ival->ival) + ")";
}

std::string typeOf(const PgQuery__TypeName* type) {
  if (!type || type->n_names == 0) return {};
  const NodeList names = nodes(type->n_names, type->names);
  std::string name(stringOf(names.back()));
  const bool built_in = names.size() == 2 && stringOf(names[0]) == "pg_catalog";
  if (type->pct_type) {
    name.clear();
    for (const Node* n : names) {
      if (!name.empty()) name += '.';
      name += stringOf(n);
    }
    name += "%type";
  } else if (names.size() == 1 && name == "char") {  // the keyword CHAR arrives as pg_catalog.bpchar
    name.assign("\"char\"");
  } else if (names.size() == 1 || built_in) {
    name = canonicalTypeName(name);
    name += bitLength(*type, name);
  } else {
    name = std::string(stringOf(names[names.size() - 2])).append(".").append(name);
  }
  return type->n_array_bounds > 0 ? name + "[]" : name;
}

}  // namespace pglocklint::sql
