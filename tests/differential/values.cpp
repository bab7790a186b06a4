// Values: random key expressions, computed by pglocklint from the text and by PostgreSQL in earnest. The lock that the server then shows
// in pg_locks (classid, objid, objsubid) must be the key that was computed; a form that the analysis says does not exist must be an
// error, and an error that it foretells must happen.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "choices.h"
#include "oracle/servers.h"
#include "oracle/session.h"
#include "peer_client.h"

namespace {

using namespace pglocklint;
using differential::Choices;
using oracle::Result;
using oracle::Session;

class Expressions {
 public:
  explicit Expressions(Choices& c) : c_(c) {}

  std::string call() {
    const char* const functions[] = {"pg_advisory_xact_lock", "pg_try_advisory_xact_lock", "pg_advisory_xact_lock_shared", "pg_try_advisory_xact_lock_shared"};
    std::string out = functions[c_.below(4)];
    switch (c_.weighted({50, 30, 14, 3, 3})) {
      case 0: return out + "(" + integer(3) + ")";
      case 1: return out + "(" + integer(2) + ", " + integer(2) + ")";
      case 2: return out + "(" + anything() + (c_.chance(50) ? ", " + anything() : "") + ")";
      case 3: return out + "(" + anything() + ", " + anything() + ", " + integer(1) + ")";
      default: return out + "(" + anything() + ")";
    }
  }

 private:
  std::string number() {
    switch (c_.weighted({40, 30, 30})) {
      case 0: return std::to_string(c_.below(2000));
      case 1: return std::to_string(c_.below(0xFFFFFFFFU));
      default: {
        const char* const edges[] = {"2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "4294967295", "4294967296", "32767", "32768", "65535", "18446744073709551616", "1", "0"};
        return edges[c_.below(12)];
      }
    }
  }

  std::string literal() { return c_.chance(25) ? "(-" + number() + ")" : number(); }

  std::string fraction() {
    const char* const list[] = {"0.5", "1.5", "2.5", "-0.5", "-1.5", "2147483647.4", "2147483647.5", "1e3", "12345.678", "-2.4999", "9223372036854775807.2", "0.4999999", "1e10", "3.5e0"};
    return list[c_.below(14)];
  }

  std::string integer(int depth) {
    if (depth <= 0) return literal();
    switch (c_.weighted({16, 14, 10, 12, 9, 5, 5, 6, 5, 4, 4, 3, 3, 4})) {
      case 0: return literal();
      case 1: return "hashtext(" + text(depth - 1) + ")";
      case 2: return "hashtextextended(" + text(depth - 1) + ", " + literal() + ")";
      case 3: {
        const char* const operators[] = {"+", "-", "*", "/", "%", "&", "|", "#", "<<", ">>"};
        const std::size_t which = c_.below(10);
        const std::string right = which >= 8 ? std::to_string(c_.below(70)) : integer(depth - 1);
        return "(" + integer(depth - 1) + " " + operators[which] + " " + right + ")";
      }
      case 4: return "(" + integer(depth - 1) + ")" + c_.pick({"::bigint", "::int", "::smallint", "::int8", "::integer"});
      case 5: return "CAST(" + fraction() + " AS " + c_.pick({"int", "bigint"}) + ")";
      case 6: return "hashint" + c_.pick({"4(", "8("}) + integer(depth - 1) + ")";
      case 7: return hexIdiom(depth - 1);
      case 8: return "abs(" + integer(depth - 1) + ")";
      case 9: return "mod(" + integer(depth - 1) + ", " + integer(depth - 1) + ")";
      case 10: return "'" + std::string(c_.chance(30) ? " " : "") + number() + std::string(c_.chance(20) ? "x" : c_.chance(20) ? " " : "") + "'" + c_.pick({"::int", "::bigint", "::smallint"});
      case 11: return "(~" + integer(depth - 1) + ")";
      case 12: return "length(" + text(depth - 1) + ")";
      default: return c_.pick({"coalesce(", "greatest(", "least("}) + integer(depth - 1) + ", " + integer(depth - 1) + ")";
    }
  }

 public:
  std::string hexIdiom(int depth) {
    const std::string hash = "md5(" + text(depth) + ")";
    switch (c_.below(5)) {
      case 0: return "('x' || " + hash + ")::bit(64)::bigint";
      case 1: return "('x' || " + hash + ")::bit(32)::int";
      case 2: return "('x' || substr(" + hash + ", 1, 16))::bit(64)::bigint";
      case 3: return "('x' || left(" + hash + ", 8))::bit(32)::int";
      default: return "('x' || substring(" + hash + " from " + std::to_string(1 + c_.below(20)) + " for 8))::bit(32)::integer";
    }
  }

 private:
  std::string word() {
    static const std::array<std::string, 16> pieces{"job", ":", "Tenant", "ä", "ß", "日本", "😀", "''", "\\", " ", "é", "e\xCC\x81", "0", "order/", "%", "\t"};
    std::string out;
    for (std::uint32_t n = c_.below(6); n > 0; --n) out += pieces[c_.below(16)];
    if (c_.chance(6)) {
      std::string copy = out;
      for (std::uint32_t n = c_.below(40); n > 0; --n) out += copy;
    }
    return out;
  }

  std::string text(int depth) {
    const std::string plain = "'" + word() + "'";
    if (depth <= 0) return plain;
    switch (c_.weighted({40, 16, 8, 6, 6, 5, 5, 4, 4, 3, 3})) {
      case 0: return plain;
      case 1: return "(" + text(depth - 1) + " || " + text(depth - 1) + ")";
      case 2: return "(" + text(depth - 1) + " || " + integer(depth - 1) + ")";
      case 3: return "concat(" + text(depth - 1) + ", " + integer(depth - 1) + ", " + text(depth - 1) + ")";
      case 4: return "format('%s:%s', " + text(depth - 1) + ", " + integer(depth - 1) + ")";
      case 5: return "md5(" + text(depth - 1) + ")";
      case 6: return "(" + integer(depth - 1) + ")::text";
      case 7: return c_.pick({"lower(", "upper("}) + text(depth - 1) + ")";
      case 8: return c_.pick({"left(", "right("}) + text(depth - 1) + ", " + std::to_string(c_.below(9)) + ")";
      case 9: return "substr(" + text(depth - 1) + ", " + std::to_string(1 + c_.below(5)) + ", " + std::to_string(c_.below(9)) + ")";
      default: return "concat_ws('-', " + text(depth - 1) + ", NULL, " + text(depth - 1) + ")";
    }
  }

  std::string anything() {
    switch (c_.below(15)) {
      case 0: return "NULL";
      case 1: return "'" + number() + "'";
      case 2: return text(1);
      case 3: return fraction();
      case 4: return "true";
      case 5: return "(" + literal() + ")::numeric";
      case 6: return "(" + literal() + ")::smallint";
      case 7: return "'" + number() + "'::text";
      case 8: return "(" + std::to_string(c_.below(1000)) + ")::oid";
      case 9: return "1.0::float8";
      case 10: return "now()";
      case 11: return "B'101'";
      case 12: return "NULL::bigint";
      case 13: return hexIdiom(1);
      default: return "ARRAY[1, 2]";
    }
  }

  Choices& c_;
};

struct Truth {
  std::string sqlstate, message, lock;  // lock: "classid objid objsubid", empty if none was taken
};

Truth onServer(Session& session, const std::string& call) {
  const Result r = session.run("SELECT " + call + "; SELECT classid || ' ' || objid || ' ' || objsubid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()");
  return {r.sqlstate, r.message, r.value().value_or("")};
}

// As pg_locks shows the key that was computed; empty if it is not all constant.
std::string expected(const nlohmann::json& key) {
  if (!key["constant"].get<bool>()) return "";
  const auto& parts = key["parts"];
  const auto number = [&](std::size_t i) { return std::strtoll(parts.at(i).get<std::string>().c_str(), nullptr, 10); };
  if (key["form"] == "bigint") {
    const std::uint64_t v = static_cast<std::uint64_t>(number(0));
    return fmt::format("{} {} 1", static_cast<std::uint32_t>(v >> 32), static_cast<std::uint32_t>(v));
  }
  if (key["form"] == "pair") return fmt::format("{} {} 2", static_cast<std::uint32_t>(number(0)), static_cast<std::uint32_t>(number(1)));
  return "";
}

struct Counts {
  long calls = 0, computed = 0, errors = 0, no_overload = 0, open = 0, open_errors = 0, wrong = 0;
};

class Values {
 public:
  explicit Values(const std::string& peer) : peer_(peer) { peer_.ask({{"setup", std::string()}}); }

  Counts on(const oracle::TestServer& server, std::uint64_t seed, long count) {
    Session session(server.conninfo());
    session.must("SET client_min_messages = error");
    Counts n;
    constexpr long kBatch = 100;
    for (long first = 0; first < count; first += kBatch) {
      std::vector<std::string> calls;
      std::string text;
      for (long i = first; i < first + kBatch; ++i) {
        Choices choices(seed * 1000003 + static_cast<std::uint64_t>(i));
        Expressions e(choices);
        calls.push_back(i % 12 == 0 ? "pg_advisory_xact_lock(" + e.hexIdiom(2) + ")" : e.call());
        text += "SELECT " + calls.back() + ";\n";
      }
      std::map<int, nlohmann::json> keys;
      const nlohmann::json answer = peer_.ask({{"keys", text}});
      for (const nlohmann::json& k : answer["keys"]) keys[k["line"].get<int>()] = k;
      for (std::size_t i = 0; i < calls.size(); ++i) {
        const auto it = keys.find(static_cast<int>(i) + 1);
        compare(server, calls[i], it == keys.end() ? nullptr : &it->second, onServer(session, calls[i]), n);
      }
    }
    return n;
  }

 private:
  void compare(const oracle::TestServer& server, const std::string& call, const nlohmann::json* key, const Truth& truth, Counts& n) {
    ++n.calls;
    const auto wrong = [&](const std::string& said) {
      if (++n.wrong <= 25)
        fmt::print("PostgreSQL {}: SELECT {}\n  said {}, but it is {}\n", server.major(), call, said,
                   truth.sqlstate.empty() ? truth.lock.empty() ? "no lock" : truth.lock : truth.sqlstate + " " + truth.message);
    };
    if (!key) return wrong("nothing: the call was not found");
    const bool overload_error = truth.sqlstate == "42883" || truth.sqlstate == "42725";
    const std::string error = (*key)["error"], form = (*key)["form"];
    if (form == "no-overload") {
      ++n.no_overload;
      // A literal that is none of its type is refused before anything is looked up.
      const bool earlier = truth.sqlstate.starts_with("22") && error.find('?') != std::string::npos;
      if (!overload_error && !earlier) wrong("no overload: " + error);
    } else if (!error.empty()) {
      ++n.errors;
      if (truth.sqlstate.empty()) wrong("an error: " + error);
    } else if (const std::string lock = expected(*key); !lock.empty()) {
      ++n.computed;
      if (lock != truth.lock) wrong(lock);
    } else {
      ++n.open;
      n.open_errors += !truth.sqlstate.empty();
    }
  }

  differential::PeerClient peer_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: test_values EVALUATION_PEER [COUNT [SEED]]\n");
    return 2;
  }
  const long count = argc > 2 ? std::atol(argv[2]) : 5000;
  const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  if (const int status = oracle::statusWithoutServers()) return status;
  int failed = 0;
  try {
    Values values(argv[1]);
    for (const auto& server : oracle::testServers()) {
      const Counts n = values.on(*server, seed, count);
      fmt::print("PostgreSQL {}: {} calls: {} keys computed, {} errors and {} missing overloads foretold, {} left open ({} of them errors); {} wrong\n",
                 server->program().version, n.calls, n.computed, n.errors, n.no_overload, n.open, n.open_errors, n.wrong);
      failed += n.wrong > 0 || n.computed * 3 < n.calls;
    }
  } catch (const std::exception& e) {
    fmt::print(stderr, "test_values: {}\n", e.what());
    return 2;
  }
  return failed ? 1 : 0;
}
