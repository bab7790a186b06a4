#include "program/lock_keys.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/host.h"
#include "program/values_fold.h"

namespace pglocklint {
namespace {

constexpr int kDeepest = 40;  // of a value tree; deeper keys are sets to us

struct Identity {
  std::string text;
  std::vector<std::string> names;
  bool exact = true, parametric = true;
  bool of_function = false;  // names something of the function
};

std::string baseName(const std::string& name) { return name.substr(0, name.find('.')); }

void describeIdentity(const Value& v, int depth, Identity& out);

void describeList(const Value& v, std::string_view head, int depth, Identity& out) {
  out.text += head;
  out.text += '(';
  for (const Value& a : v.args) describeIdentity(a, depth + 1, out), out.text += ',';
  out.text += ')';
}

// A field of a host object has its path for a name, which the caller of a method knows in its own words. A local that is assigned at
// several places is another value each time: nothing says which one.
void describeHostVariable(const Value& v, Identity& out) {
  const std::string path = v.text.empty() ? v.name : v.text;
  out.text += "v:" + path;
  out.names.push_back(path);
  if (v.text.empty()) out.exact = out.parametric = false;
  if (!path.starts_with("global ")) out.of_function = true;
  if (!path.starts_with("global ") && !path.starts_with("this.")) out.parametric = false;
}

void describeVariable(const std::string& name, Identity& out) {
  out.text += "v:" + name;
  out.names.push_back(baseName(name));
  out.parametric = false, out.of_function = true;
}

// A value that a variable holds is one value, whatever it was computed from.
void describeSet(const Value& v, Identity& out) {
  if (!v.constant_name.empty()) return describeVariable(v.constant_name, out);
  if (v.kind == ValueKind::Column && (v.relation.str() == "new" || v.relation.str() == "old"))  // of a trigger whose table is not in view
    return describeVariable(v.relation.str() + "." + v.name, out);
  out.exact = out.parametric = false;
  out.text += fmt::format("{}:{}.{}", nameOf(v.kind), v.relation, v.name);
}

void describeIdentity(const Value& v, int depth, Identity& out) {
  if (depth > kDeepest) {
    out.exact = out.parametric = false;
    return;
  }
  if (isKnown(v)) {
    out.text += v.kind == ValueKind::Text ? "'" + v.text + "'" : v.text;
    return;
  }
  switch (v.kind) {
    case ValueKind::Parameter:
      out.text += "p:" + v.name;
      out.of_function = true;
      return;
    case ValueKind::Variable: return v.relation == kHostSchema ? describeHostVariable(v, out) : describeVariable(v.name, out);
    case ValueKind::Setting: out.text += "setting:" + v.name; return;
    case ValueKind::Oid: out.text += "oid:" + v.name; return describeList(v, "", depth, out);
    case ValueKind::Cast:
      if (v.args.size() == 1) return describeIdentity(v.args[0], depth + 1, out);
      return describeSet(v, out);
    case ValueKind::Hash:
    case ValueKind::Concat:
    case ValueKind::Arithmetic:
    case ValueKind::Call: {
      Identity inner;
      describeList(v, v.kind == ValueKind::Concat ? "||" : v.name, depth, inner);
      if (!inner.exact && !v.constant_name.empty()) return describeVariable(v.constant_name, out);
      out.text += inner.text;
      out.names.insert(out.names.end(), inner.names.begin(), inner.names.end());
      out.exact &= inner.exact, out.parametric &= inner.parametric, out.of_function |= inner.of_function;
      return;
    }
    case ValueKind::Choice:
      if (v.name == "case" || v.name.empty()) return describeSet(v, out);
      return describeList(v, v.name, depth, out);
    case ValueKind::ProcessId: out.text += "pid"; return;
    default: return describeSet(v, out);
  }
}

// Arguments in place of parameters; what then is constant is computed as PostgreSQL does.
Value substituted(const Value& v, const std::vector<std::string>& names, const List<Value>& arguments, int depth) {
  if (depth > kDeepest) return v;
  if (v.kind == ValueKind::Parameter || (v.kind == ValueKind::Variable && v.relation == kHostSchema)) {
    const std::string name = v.kind == ValueKind::Parameter ? v.name : std::string(v.text);
    const auto at = std::find(names.begin(), names.end(), name);
    const auto i = static_cast<std::size_t>(at - names.begin());
    return at != names.end() && i < arguments.size() ? arguments[i] : v;
  }
  Value out = v;
  bool changed = false;
  for (Value& a : out.args) {
    Value b = substituted(a, names, arguments, depth + 1);
    changed |= !(b == a);
    a = std::move(b);
  }
  if (!changed || !std::all_of(out.args.begin(), out.args.end(), isKnown)) return out;
  std::optional<Value> folded;
  if (out.kind == ValueKind::Cast && out.args.size() == 1) folded = foldCast(out.args[0], out.type);
  if (out.kind == ValueKind::Hash) folded = foldFunction(out.name, out.args);
  if (out.kind == ValueKind::Arithmetic && out.args.size() == 2) folded = foldOperator(out.name, &out.args[0], out.args[1], out.type);
  if (out.kind == ValueKind::Concat) {
    std::string text;
    for (const Value& a : out.args) text += a.text;
    folded = constantOf(ValueKind::Text, text, "text");
  }
  if (folded) out.text = folded->text;
  return folded && out.kind != ValueKind::Hash ? *folded : out;
}

std::string classOf(const List<Value>& parts) {
  std::vector<std::string> texts;
  for (const Value& part : parts) texts.push_back(classText(part));
  return texts.size() == 1 ? texts[0] : fmt::format("({})", fmt::join(texts, ", "));
}

// Two parts that can never be the same number: two constants, or hashes of texts that begin differently (but for collisions of the
// hash, which are another rule's matter).
bool disjoint(const Value& a, const Value& b) {
  const auto x = constantInteger(a), y = constantInteger(b);
  if (x && y) return *x != *y;
  const std::string s = classText(a), t = classText(b);
  const std::size_t i = s.find('"'), j = t.find('"');
  if (i == std::string::npos || j == std::string::npos || i != j || s.compare(0, i, t, 0, j) != 0) return false;
  const auto ends = [](const std::string& text, std::size_t from) { return std::min(text.find('"', from + 1), text.size()); };
  const std::string p = s.substr(i + 1, ends(s, i) - i - 1), q = t.substr(j + 1, ends(t, j) - j - 1);
  const std::size_t shared = std::min(p.size(), q.size());
  return p.compare(0, shared, q, 0, shared) != 0;
}

}  // namespace

KeyId KeyTable::add(KeyInfo info) {
  const auto [at, fresh] = by_identity_.try_emplace(info.identity, static_cast<KeyId>(keys_.size()));
  if (fresh) keys_.push_back(std::move(info));
  return at->second;
}

KeyId KeyTable::intern(const LockKey& key, const Function* function) {
  if (!hasKey(key.form) || key.parts.empty()) return kUnknownKey;
  KeyInfo info;
  info.form = key.form, info.class_text = key.class_text, info.parts = key.parts, info.constant = key.constant;
  Identity identity;
  identity.text = std::string(nameOf(key.form)) + " ";
  for (const Value& part : key.parts) {
    if (const auto number = constantInteger(part)) identity.text += fmt::format("{}", *number);
    else describeIdentity(part, 0, identity);
    identity.text += ';';
  }
  info.exact = identity.exact, info.parametric = identity.parametric, info.names = std::move(identity.names);
  std::sort(info.names.begin(), info.names.end());
  if (identity.of_function || !identity.exact) {
    info.function = function;
    identity.text += fmt::format(" in {}", fmt::ptr(function));
  }
  info.identity = std::move(identity.text);
  return add(std::move(info));
}

KeyId KeyTable::substitute(KeyId key, const std::vector<std::string>& names, const List<Value>& arguments,
                           const Function* caller) {
  if (key == kUnknownKey) return key;
  const KeyInfo info = at(key);
  if (info.function == nullptr) return key;
  LockKey seen;
  seen.form = info.form;
  if (!info.parametric) {  // the callee's own variables: a set of its class
    KeyInfo set = info;
    set.exact = false, set.names.clear(), set.function = nullptr, set.identity = fmt::format("class {} {}", info.class_text, nameOf(info.form));
    return add(std::move(set));
  }
  for (const Value& part : info.parts) seen.parts.push_back(substituted(part, names, arguments, 0));
  seen.class_text = classOf(seen.parts);
  seen.constant = std::all_of(seen.parts.begin(), seen.parts.end(), [](const Value& v) { return constantInteger(v).has_value(); });
  return intern(seen, caller);
}

KeyId KeyTable::older(KeyId key) {
  if (key == kUnknownKey || at(key).older != kUnknownKey) return key;
  KeyInfo info = at(key);
  info.identity += " older";
  info.older = key, info.exact = false, info.parametric = false, info.names.clear();
  return add(std::move(info));
}

Alias KeyTable::alias(KeyId a, KeyId b) const {
  if (a == kUnknownKey || b == kUnknownKey) return Alias::May;
  const KeyInfo &x = at(a), &y = at(b);
  if (a == b) return x.exact ? Alias::Must : Alias::May;
  if (x.form != y.form || (x.constant && y.constant)) return Alias::No;
  for (std::size_t i = 0; i < x.parts.size() && i < y.parts.size(); ++i)
    if (disjoint(x.parts[i], y.parts[i])) return Alias::No;
  return Alias::May;
}

}  // namespace pglocklint
