// The lock state's transfer functions, one by one: what each event does to session counts, levels, losses and alternatives.
#include <doctest/doctest.h>

#include "program/lock_domain.h"

using namespace pglocklint;

namespace {

Value integer(const std::string& text) {
  Value v;
  v.kind = ValueKind::Integer, v.text = text, v.type = "bigint";
  return v;
}
Value named(ValueKind kind, const std::string& name) {
  Value v;
  v.kind = kind, v.name = name, v.type = "bigint";
  return v;
}

struct World {
  KeyTable keys;
  Function function;
  KeyId key(std::vector<Value> parts) {
    LockKey k;
    k.form = parts.size() == 1 ? KeyForm::Bigint : KeyForm::Pair;
    for (const Value& v : parts) k.class_text += (k.class_text.empty() ? "" : ", ") + classText(v);
    k.constant = true;
    for (const Value& v : parts) k.constant &= v.kind == ValueKind::Integer;
    k.parts = std::move(parts);
    return keys.intern(k, &function);
  }
};

constexpr LockMode kExclusive = LockMode::Exclusive;
constexpr LockMode kShared = LockMode::Shared;

Acquisition take(KeyId key, LockScope scope, LockMode mode = kExclusive) { return {key, mode, scope, 1, 1, 0}; }

}  // namespace

TEST_CASE("session locks count, and no transaction event changes the count") {
  World w;
  const KeyId k = w.key({integer("7")});
  LockState s;
  acquire(s, take(k, LockScope::Session), w.keys);
  acquire(s, take(k, LockScope::Session), w.keys);
  REQUIRE(s.find(k, kExclusive) != nullptr);
  CHECK(s.find(k, kExclusive)->lo == 2);
  endTransaction(s, Loss::Commit, {});
  CHECK(s.find(k, kExclusive)->lo == 2);
  CHECK(s.lost.empty());
  release(s, k, kExclusive, false, w.keys);
  CHECK(s.find(k, kExclusive)->lo == 1);
  CHECK(s.find(k, kExclusive)->hi == 1);
  release(s, k, kShared, false, w.keys);
  CHECK(s.find(k, kExclusive)->lo == 1);  // another mode is another lock
  release(s, k, kExclusive, false, w.keys);
  CHECK(s.find(k, kExclusive) == nullptr);
  release(s, k, kExclusive, false, w.keys);
  CHECK(s.holds.empty());  // a script holds nothing it did not take
}

TEST_CASE("in a routine a release counts against the caller") {
  World w;
  const KeyId k = w.key({integer("7")});
  LockState s;
  release(s, k, kExclusive, true, w.keys);
  REQUIRE(s.find(k, kExclusive) != nullptr);
  CHECK(s.find(k, kExclusive)->hi == -1);
  acquire(s, take(k, LockScope::Session), w.keys);
  CHECK((s.find(k, kExclusive) == nullptr || s.find(k, kExclusive)->hi == 0));
}

TEST_CASE("a transaction lock belongs to the level that took it") {
  World w;
  const KeyId outer = w.key({integer("1")}), inner = w.key({integer("2")});
  LockState s;
  acquire(s, take(outer, LockScope::Transaction), w.keys);
  pushLevel(s, "a");
  acquire(s, take(inner, LockScope::Transaction), w.keys);
  SUBCASE("ROLLBACK TO drops it and keeps the savepoint") {
    dropLevels(s, findLevel(s, "a"), findLevel(s, "a"), Loss::Savepoint, {}, -1);
    CHECK(s.find(inner, kExclusive) == nullptr);
    CHECK(s.find(outer, kExclusive)->must == 1);
    CHECK(s.levels == std::vector<std::string>{"a"});
    REQUIRE(s.lost.size() == 1);
    CHECK(s.lost[0].hold.key == inner);
    acquire(s, take(inner, LockScope::Transaction), w.keys);
    CHECK(s.lost.empty());  // taken again
  }
  SUBCASE("RELEASE hands it down") {
    popLevel(s);
    CHECK(s.find(inner, kExclusive)->must == 1);
    CHECK(s.levels.empty());
  }
  SUBCASE("pg_advisory_unlock does not see it") {
    release(s, inner, kExclusive, false, w.keys);
    CHECK(s.find(inner, kExclusive)->must != 0);
  }
  SUBCASE("COMMIT ends all of them") {
    endTransaction(s, Loss::Commit, {});
    CHECK(s.holds.empty());
    CHECK(s.lost.size() == 2);
  }
  SUBCASE("an error keeps what a session lock of the same key holds") {
    acquire(s, take(inner, LockScope::Session), w.keys);
    dropLevels(s, 1, 0, Loss::Handler, {}, 0);
    CHECK(s.find(inner, kExclusive)->lo == 1);
    CHECK(s.lost.empty());  // it is still held
  }
}

TEST_CASE("a refused try says that the key is not held") {
  World w;
  const KeyId k = w.key({integer("7")}), row = w.key({named(ValueKind::Column, "id")});
  LockState s;
  CHECK(refuse(s, k, kExclusive, w.keys));
  acquire(s, take(k, LockScope::Transaction), w.keys);
  CHECK_FALSE(refuse(s, k, kExclusive, w.keys));  // a holder's own try is always true
  CHECK(refuse(s, k, kShared, w.keys));
  acquire(s, take(row, LockScope::Session), w.keys);
  CHECK(refuse(s, row, kExclusive, w.keys));  // a set of keys: another one
  CHECK(s.find(row, kExclusive)->lo == 0);
}

TEST_CASE("identity: constants, parameters, variables and their older values") {
  World w;
  const KeyId seven = w.key({integer("7")}), eight = w.key({integer("8")}), pair = w.key({integer("0"), integer("7")});
  const KeyId p = w.key({named(ValueKind::Parameter, "p")}), q = w.key({named(ValueKind::Parameter, "q")});
  const KeyId v = w.key({named(ValueKind::Variable, "v")});
  CHECK(w.key({integer("7")}) == seven);
  CHECK(w.keys.alias(seven, seven) == Alias::Must);
  CHECK(w.keys.alias(seven, eight) == Alias::No);
  CHECK(w.keys.alias(seven, pair) == Alias::No);
  CHECK(w.keys.alias(p, q) == Alias::May);
  CHECK(w.keys.alias(p, p) == Alias::Must);
  CHECK(w.keys.alias(kUnknownKey, p) == Alias::May);
  LockState s;
  acquire(s, take(v, LockScope::Session), w.keys);
  forget(s, "v", w.keys);
  CHECK(s.find(v, kExclusive) == nullptr);
  REQUIRE(s.holds.size() == 1);
  CHECK(s.holds[0].key == w.keys.older(v));
  CHECK(w.keys.alias(s.holds[0].key, v) == Alias::May);
}

TEST_CASE("a caller sees its own arguments in place of parameters") {
  World w;
  Function caller;
  const KeyId k = w.key({integer("1001"), named(ValueKind::Parameter, "p")});
  const KeyId constant = w.keys.substitute(k, {"p"}, {integer("5")}, &caller);
  CHECK(w.keys.at(constant).constant);
  CHECK(constant == w.key({integer("1001"), integer("5")}));
  const KeyId own = w.keys.substitute(k, {"p"}, {named(ValueKind::Variable, "x")}, &caller);
  CHECK(w.keys.at(own).exact);
  CHECK_FALSE(w.keys.at(own).parametric);
}

TEST_CASE("alternatives stay apart while there is room, and one hull holds them all") {
  World w;
  LockStateSet set;
  LockState free;
  CHECK(addState(set, free));
  CHECK_FALSE(addState(set, free));
  for (int i = 0; i < 20; ++i) {
    LockState s;
    acquire(s, take(w.key({integer(std::to_string(i))}), LockScope::Session), w.keys);
    addState(set, s);
    CHECK_FALSE(addState(set, s));  // what is in is in
  }
  CHECK(set.size() <= kMostStates);
  LockState failed;
  failed.status = TransactionStatus::Failed;
  LockStateSet two;
  addState(two, free, true);
  addState(two, failed, true);
  CHECK(two.size() == 2);  // a failed transaction is never joined with an open one
  LockState s;
  const KeyId k = w.key({integer("99")});
  for (int i = 0; i < 10; ++i) {
    acquire(s, take(k, LockScope::Session), w.keys);
    addState(two, s, true);
  }
  CHECK(two.size() == 2);
  CHECK(two[0].find(k, kExclusive)->lo == 0);
  CHECK(two[0].find(k, kExclusive)->hi == kMany);
}

TEST_CASE("a write under a lock is forgotten when it is committed or undone") {
  World w;
  const KeyId k = w.key({integer("7")});
  LockState s;
  acquire(s, take(k, LockScope::Session), w.keys);
  pushLevel(s, "a");
  Hold& h = s.holds.change(k, kExclusive);
  h.written.line = 3, h.written_level = 1;
  LockState undone = s, released = s;
  dropLevels(undone, 1, 1, Loss::Savepoint, {}, -1);
  CHECK_FALSE(undone.find(k, kExclusive)->written.known());
  popLevel(released);
  CHECK(released.find(k, kExclusive)->written.known());
  endTransaction(released, Loss::Commit, {});
  CHECK_FALSE(released.find(k, kExclusive)->written.known());
}
