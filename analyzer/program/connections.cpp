#include "program/connections.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace pglocklint {

namespace {

constexpr std::string_view kServerPort = "5432";  // libpq's default

// A value that is not a constant: a shell or template expansion, a placeholder.
bool isUnknown(std::string_view value) {
  return value.find("${") != std::string_view::npos || value.find("{{") != std::string_view::npos || value.find('%') == 0 || value == "?";
}

void set(ConnectionTarget& t, std::string_view key, std::string value) {
  const bool known = !isUnknown(value);
  if (key == "host" || key == "hostaddr") t.host = std::move(value), t.host_known = known;
  else if (key == "port") t.port = std::move(value), t.port_known = known;
  else if (key == "dbname") t.database = std::move(value), t.database_known = known;
  else if (key == "user") t.user = std::move(value);
  else if (key == "target_session_attrs") t.target_session_attrs = std::move(value);
  else if (key == "options") t.options = std::move(value);
  else if (key == "pgbouncer") t.pooler_hint = value == "true" || value == "1";
}

std::string percentDecoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && std::isxdigit(static_cast<unsigned char>(text[i + 1])) &&
                        std::isxdigit(static_cast<unsigned char>(text[i + 2]));
    if (!escape) out += text[i];
    else out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16)), i += 2;
  }
  return out;
}

// postgresql://user:password@host:port/database?key=value
void readUri(ConnectionTarget& t, std::string_view rest) {
  const std::size_t query = rest.find('?');
  std::string_view options = query == std::string_view::npos ? std::string_view{} : rest.substr(query + 1);
  rest = rest.substr(0, query);
  if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
    set(t, "dbname", std::string(rest.substr(slash + 1)));
    rest = rest.substr(0, slash);
  }
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    set(t, "user", std::string(rest.substr(0, std::min(rest.find(':'), at))));
    rest = rest.substr(at + 1);
  }
  std::string hosts, ports;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    const std::size_t colon = one.ends_with(']') ? std::string_view::npos : one.rfind(':');
    hosts += (hosts.empty() ? "" : ",") + std::string(one.substr(0, colon));
    if (colon != std::string_view::npos) ports += (ports.empty() ? "" : ",") + std::string(one.substr(colon + 1));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
  }
  if (!hosts.empty()) set(t, "host", hosts);
  if (!ports.empty()) set(t, "port", ports);
  while (!options.empty()) {
    const std::string_view one = options.substr(0, options.find('&'));
    if (const std::size_t equals = one.find('='); equals != std::string_view::npos)
      set(t, one.substr(0, equals), percentDecoded(one.substr(equals + 1)));
    options.remove_prefix(std::min(one.size() + 1, options.size()));
  }
}

void readKeywords(ConnectionTarget& t, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t equals = text.find('=', at);
    if (equals == std::string_view::npos) return;
    std::size_t begin = text.find_last_of(" \t\n", equals == 0 ? 0 : equals - 1);
    begin = begin == std::string_view::npos || begin < at ? at : begin + 1;
    const std::string_view key = text.substr(begin, equals - begin);
    std::string value;
    std::size_t i = equals + 1;
    const bool quoted = i < text.size() && text[i] == '\'';
    for (i += quoted; i < text.size() && (quoted ? text[i] != '\'' : !std::isspace(static_cast<unsigned char>(text[i]))); ++i) {
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      value += text[i];
    }
    set(t, key, std::move(value));
    at = i + 1;
  }
}

// Providers whose pooler is told by name and port: Neon's pooled endpoints, Supabase's Supavisor (6543: transaction mode; 5432: session),
// Azure's flexible servers (6432: pgbouncer, in transaction mode unless somebody sets pgbouncer.pool_mode).
bool isProvidersPooler(const ConnectionTarget& t) {
  const bool neon = t.host.find("-pooler.") != std::string::npos && t.host.ends_with(".neon.tech");
  const bool supabase = (t.host.ends_with(".supabase.com") || t.host.ends_with(".supabase.co")) && t.port == "6543";
  const bool azure = t.host.ends_with(".postgres.database.azure.com") && t.port == "6432";
  return t.host_known && (neon || supabase || azure);
}

const Pool* poolFor(const Pooler& pooler, const ConnectionTarget& t) {
  const Pool* of_some_user = nullptr;  // t names no user, and all pools that may be meant have one mode
  bool one_mode = true;
  for (const Pool& p : pooler.pools) {
    if (p.database != "*" && !(t.database_known && p.database == t.database)) continue;
    if (p.user.empty() || p.user == t.user) return &p;
    if (of_some_user) one_mode = one_mode && p.mode == of_some_user->mode;
    else of_some_user = &p;
  }
  return t.user.empty() && one_mode ? of_some_user : nullptr;
}

// By its name, or as a cluster's DNS writes it: name.namespace.svc.
bool answersTo(const Pooler& pooler, const std::string& host) {
  return std::any_of(pooler.hosts.begin(), pooler.hosts.end(), [&](const std::string& name) { return host == name || host.starts_with(name + "."); });
}

// A server that the pooler leads to: whoever connects there does without the pooler.
bool isServerOf(const Pooler& pooler, const ConnectionTarget& t, std::string_view port) {
  return std::any_of(pooler.pools.begin(), pooler.pools.end(), [&](const Pool& p) { return !p.host.empty() && p.host == t.host && p.port == port; });
}

}  // namespace

ConnectionTarget connectionTarget(std::string_view text) {
  ConnectionTarget t;
  const std::size_t scheme = text.find("://");
  if (text.starts_with("postgres") && scheme != std::string_view::npos) readUri(t, text.substr(scheme + 3));
  else if (text.find('=') != std::string_view::npos) {
    readKeywords(t, text);
    // libpq takes dbname for a connection string of its own if it looks like one.
    const std::string inner = t.database;
    if (inner.find("://") != std::string::npos && inner.starts_with("postgres")) readUri(t, std::string_view(inner).substr(inner.find("://") + 3));
    else if (isUnknown(inner) && t.host.empty() && t.port.empty()) t.unknown = true;
  } else if (isUnknown(text)) t.unknown = true;
  else t.database = std::string(text);
  t.several_hosts = t.host.find(',') != std::string::npos;
  return t;
}

std::vector<std::pair<std::string, std::string>> settingsOf(const ConnectionTarget& target) {
  std::vector<std::pair<std::string, std::string>> settings;
  std::istringstream words(target.options);
  for (std::string word; words >> word;) {
    if (word == "-c" && !(words >> word)) break;
    if (word.starts_with("--")) word = word.substr(2);
    else if (word.starts_with("-c")) word = word.substr(2);
    const std::size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    std::replace(name.begin(), name.end(), '-', '_');
    if (isUnknown(name)) settings.emplace_back();
    else if (equals != std::string::npos) settings.emplace_back(std::move(name), word.substr(equals + 1));
  }
  return settings;
}

PoolerFinding findPooler(const ConnectionTarget& target, const std::vector<Pooler>& poolers) {
  if (target.pooler_hint || isProvidersPooler(target)) return {PoolerMatch::Certain, PoolMode::Transaction, nullptr, nullptr};
  const std::string_view port = target.port.empty() ? kServerPort : std::string_view(target.port);
  if (!target.unknown && target.port_known)
    for (const Pooler& pooler : poolers)
      if (port == pooler.port && answersTo(pooler, target.host)) {  // whatever else listens on that port
        const Pool* pool = poolFor(pooler, target);
        const bool keeps = pool == nullptr || pool->mode == PoolMode::Session;
        return keeps ? PoolerFinding{} : PoolerFinding{PoolerMatch::Certain, pool->mode, &pooler, pool};
      }
  PoolerFinding possible;
  for (const Pooler& pooler : poolers) {
    const Pool* pool = poolFor(pooler, target);
    if (!pool || pool->mode == PoolMode::Session) continue;
    if (target.unknown || !target.port_known) {
      if (possible.match == PoolerMatch::None) possible = {PoolerMatch::Possible, pool->mode, &pooler, pool};
      continue;
    }
    if (!pooler.hosts.empty()) continue;  // it answers to other names
    // A host that is given and a port that is the pooler's: the port alone is telling unless it is the servers' usual one.
    const bool same_port = port == pooler.port && (port != kServerPort || target.host.find(pooler.program) != std::string::npos);
    if (same_port && !isServerOf(pooler, target, port)) return {PoolerMatch::Certain, pool->mode, &pooler, pool};
  }
  return possible;
}

}  // namespace pglocklint
