// Keys as the lock state knows them: which two lock calls mean the same lock, and what a callee's key is for its caller.
//
// A KeyClass (LockKey::class_text) says what keys look like; here the question is whether two calls on one path take *one* key.
// The answer is an identity: the number of a constant key, or the expression over parameters, variables and settings that both calls
// compute. A variable holds one value at a time, so its name is an identity until it is assigned again: from then on what was taken under
// the old value is the *older* key, which nothing names any more. Keys of rows (a column, a sub-select) are sets: two calls of them may
// meet, nothing more.
#pragma once
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/value.h"
#include "program/catalogue.h"
#include "program/keys.h"

namespace pglocklint {

using KeyId = std::int32_t;
inline constexpr KeyId kUnknownKey = -1;  // ⊤: any key

struct KeyInfo {
  KeyForm form = KeyForm::Unknown;
  std::string identity;             // unique within the table
  std::string class_text;           // for people
  List<Value> parts;
  std::vector<std::string> names;   // variables it is computed from, folded; "r" for r.id
  const Function* function = nullptr;  // whose parameters and variables it names; null: none
  bool constant = false;
  bool exact = false;               // one key at any moment, not a set of rows
  bool parametric = false;          // computed from parameters and constants only: a caller knows it
  KeyId older = kUnknownKey;        // of a value that its variable no longer has: the key of the value that it has
};

enum class Alias { No, May, Must };

class KeyTable {
 public:
  // The key of a lock call in `function`. Unknown and impossible keys are kUnknownKey.
  KeyId intern(const LockKey& key, const Function* function);
  // The key as the caller sees it: parameters replaced by the arguments of one call (by parameter name, in `names`' order).
  KeyId substitute(KeyId key, const std::vector<std::string>& names, const List<Value>& arguments, const Function* caller);
  KeyId older(KeyId key);

  const KeyInfo& at(KeyId key) const { return keys_[static_cast<std::size_t>(key)]; }
  std::size_t size() const { return keys_.size(); }
  Alias alias(KeyId a, KeyId b) const;

 private:
  KeyId add(KeyInfo info);
  std::deque<KeyInfo> keys_;
  std::map<std::string, KeyId, std::less<>> by_identity_;
};

}  // namespace pglocklint
