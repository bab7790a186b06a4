#include "program_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace pglocklint::differential {

namespace {

// Before PostgreSQL's own functions in the search path: they tell what the session's count does. Transaction locks need none of that.
std::string counting(const char* parameters, const char* arguments, const char* form, const char* key) {
  std::string out;
  const auto add = [&](const std::string& name, const char* result, const std::string& body) {
    out += fmt::format("CREATE FUNCTION probe.{}({}) RETURNS {} LANGUAGE plpgsql AS $$ BEGIN {} END $$;\n", name, parameters, result, body);
  };
  for (const bool shared : {false, true}) {
    const std::string suffix = shared ? "_shared" : "", lock = fmt::format("'{} %{} {}'", form, std::string(key).find(',') == std::string::npos ? "" : " %", shared ? "share" : "exclusive");
    const auto notice = [&](char sign) { return fmt::format("RAISE NOTICE '{} {}, {};", sign, lock.substr(1), key); };
    add("pg_advisory_lock" + suffix, "void", fmt::format("PERFORM pg_catalog.pg_advisory_lock{}({}); {}", suffix, arguments, notice('+')));
    for (const auto& [name, sign] : {std::pair("pg_try_advisory_lock", '+'), std::pair("pg_advisory_unlock", '-')})
      add(name + suffix, "boolean", fmt::format("IF pg_catalog.{}{}({}) THEN {} RETURN true; END IF; RETURN false;", name, suffix, arguments, notice(sign)));
  }
  return out;
}

std::string setup() {
  return "CREATE SCHEMA probe; CREATE SCHEMA program;\n"
         "CREATE TABLE public.one(id int, v int NOT NULL CHECK (v <> 7)); INSERT INTO public.one VALUES (1, 1);\n" +
         counting("k bigint", "k", "bigint", "k") + counting("a int, b int", "a, b", "pair", "a, b") +
         "CREATE FUNCTION probe.pg_advisory_unlock_all() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_catalog.pg_advisory_unlock_all(); RAISE NOTICE '0'; END $$;\n"
         "CREATE FUNCTION probe.mark(n int, k bigint, j bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '@ % % % %', n, k, j, (SELECT"
         " coalesce(string_agg(CASE objsubid WHEN 1 THEN format('bigint %s', (classid::bigint << 32) | objid::bigint) ELSE format('pair %s %s', classid, objid) END"
         " || CASE mode WHEN 'ExclusiveLock' THEN ' exclusive' ELSE ' share' END, ';'), '') FROM pg_locks"
         " WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid()); END $$;\n";
}

std::string withDatabase(const std::string& server, const std::string& name) {
  oracle::Session keeper(server);
  keeper.must("DROP DATABASE IF EXISTS " + name);
  keeper.must("CREATE DATABASE " + name);
  return server + " dbname=" + name + " options='-c search_path=program,probe,pg_catalog,public -c lock_timeout=10ms -c client_min_messages=notice'";
}

constexpr const char* kRivalLocks[kRivals] = {
    "", "SELECT pg_advisory_lock(3), pg_advisory_lock(4), pg_advisory_lock(1, 2)",
    "SELECT pg_advisory_lock_shared(3), pg_advisory_lock_shared(4), pg_advisory_lock_shared(1, 2)"};

}  // namespace

ProgramDatabase::ProgramDatabase(const std::string& server, const std::string& name)
    : session_(withDatabase(server, name)), rival_(server + " dbname=" + name) {
  session_.must(setup());
}

void ProgramDatabase::define(const Program& p) {
  std::string text = "DROP SCHEMA program CASCADE; CREATE SCHEMA program;\n";
  for (const std::string& d : p.definitions) text += d + ";\n";
  session_.must(text);
}

void ProgramDatabase::choose(const Path& path) {
  std::string settings = "SELECT ";
  for (int i = 0; i < kSwitches; ++i)
    settings += fmt::format("{}set_config('run.s{}', '{}', false)", i ? ", " : "", i, path.switches[static_cast<std::size_t>(i)]);
  session_.must(settings);
}

void ProgramDatabase::look(const std::string& report, const Program& p, ProgramRun& out) {
  std::istringstream in(report);
  Look l;
  in >> l.mark >> l.parameters[0] >> l.parameters[1];
  in.get();
  for (std::string lock; std::getline(in, lock, ';');)
    if (!lock.empty()) l.now.shown.insert(lock);
  l.now.session = counts_;
  const Mark& m = p.marks.at(static_cast<std::size_t>(l.mark));
  if (m.entry) entries_[m.body] = l.now;
  if (m.body >= 0) l.entry = entries_[m.body];
  for (const auto& [lock, count] : counts_)
    if (!l.now.shown.contains(lock)) throw std::runtime_error("counted but not shown by pg_locks: " + lock + " in\n" + p.text());
  out.looks.push_back(std::move(l));
}

// False: it was an error.
bool ProgramDatabase::send(const std::string& text, const Program& p, ProgramRun& out) {
  const oracle::Result result = session_.run(text);
  for (const std::string& notice : session_.takeNotices()) {
    constexpr std::string_view kHead = "NOTICE:  ";
    if (!notice.starts_with(kHead)) continue;
    const std::string line = notice.substr(kHead.size(), notice.find('\n') - kHead.size());
    if (line == "0") counts_.clear();
    else if (line.starts_with("@ ")) look(line.substr(2), p, out);
    else if (line.starts_with("+ ")) ++counts_[line.substr(2)];
    else if (line.starts_with("- ") && --counts_[line.substr(2)] == 0) counts_.erase(line.substr(2));
  }
  if (!result.ok()) out.error = result.sqlstate + " " + result.message;
  return result.ok();
}

// The script stops at its first error, as psql does with ON_ERROR_STOP.
ProgramRun ProgramDatabase::run(const Program& p, const Path& path) {
  ProgramRun out;
  out.path = path;
  if (path.rival != rival_holds_) {
    rival_.must("SELECT pg_advisory_unlock_all()");
    if (path.rival) rival_.must(kRivalLocks[path.rival]);
    rival_holds_ = path.rival;
  }
  counts_.clear(), entries_.clear();
  choose(path);
  bool going = !p.one_transaction || send("BEGIN", p, out);
  std::vector<bool> taken;  // for each \if around, whether its branch is
  const auto active = [&] { return std::find(taken.begin(), taken.end(), false) == taken.end(); };
  for (const Step& s : p.steps) switch (s.kind) {
      case Step::Kind::If: taken.push_back(path.switches[static_cast<std::size_t>(s.branch)] == 1); break;
      case Step::Kind::Else: taken.back() = !taken.back(); break;
      case Step::Kind::EndIf: taken.pop_back(); break;
      case Step::Kind::Send:
        if (!going || !active()) break;
        going = send(fmt::format("{}", fmt::join(s.statements, "; ")), p, out);
        if (going && s.statements.front() == "DISCARD ALL") counts_.clear(), choose(path);
        break;
    }
  if (session_.transactionStatus() != 'I') session_.must("ROLLBACK");
  session_.must("SELECT pg_catalog.pg_advisory_unlock_all()");
  session_.takeNotices();
  return out;
}

}  // namespace pglocklint::differential
