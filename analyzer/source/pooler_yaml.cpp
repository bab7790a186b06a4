// Poolers that docker-compose files and Kubernetes manifests start: by the image and its environment variables, by the operators' own kinds,
// and by a configuration file that a ConfigMap holds.
//
//   image                            mode                     port
//   edoburu/pgbouncer                POOL_MODE                LISTEN_PORT, 5432
//   bitnami/pgbouncer                PGBOUNCER_POOL_MODE      PGBOUNCER_PORT, 6432
//   pgbouncer/pgbouncer and others   PGBOUNCER_POOL_MODE      PGBOUNCER_LISTEN_PORT, 6432
//   supabase/supavisor               transaction              PROXY_PORT_TRANSACTION, 6543
//
//   CloudNativePG   kind Pooler: spec.pgbouncer.poolMode       its name, 5432
//   Zalando         kind postgresql: spec.connectionPooler     NAME-pooler, 5432; transaction unless it says otherwise
//   Crunchy         kind PostgresCluster: spec.proxy.pgBouncer NAME-pgbouncer, 5432
//
// The default is session mode but where the table says otherwise. Values with ${…} are known by their default (${MODE:-transaction}) only.
#include "source/pooler_yaml.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "model/ascii.h"
#include "source/pooler.h"
#include "source/yaml.h"

namespace pglocklint {
namespace {

// ${NAME:-value} and ${NAME-value} by their default; nullopt: not known.
std::optional<std::string> valueOf(const std::string& text) {
  if (text.find('$') == std::string::npos) return text;
  if (!text.starts_with("${") || text.find('}') + 1 != text.size()) return std::nullopt;
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) return std::nullopt;
  return text.substr(dash + 1, text.size() - dash - 2);
}

using Environment = std::map<std::string, const YamlNode*>;

// `NAME: value`, `- NAME=value`, and Kubernetes' `- name: NAME, value: …`. Of `- NAME=value` the node is the whole item.
Environment environmentOf(const YamlNode& n) {
  Environment env;
  for (const auto& [name, value] : n.fields) env[name] = &value;
  for (const YamlNode& item : n.items) {
    if (item.isMapping()) env[item["name"].text] = &item["value"];
    else env[item.text.substr(0, item.text.find('='))] = &item;
  }
  return env;
}

std::optional<std::string> get(const Environment& env, const std::string& name) {
  const auto at = env.find(name);
  if (at == env.end()) return std::nullopt;
  const std::string& text = at->second->text;
  return valueOf(text.starts_with(name + "=") ? text.substr(name.size() + 1) : text);
}

struct Image {
  std::string_view part;  // of the image's name
  std::string_view program, mode, port, default_port;
};
constexpr Image kImages[] = {
    {"edoburu/pgbouncer", "pgbouncer", "POOL_MODE", "LISTEN_PORT", "5432"},
    {"bitnami/pgbouncer", "pgbouncer", "PGBOUNCER_POOL_MODE", "PGBOUNCER_PORT", "6432"},
    {"pgbouncer", "pgbouncer", "PGBOUNCER_POOL_MODE", "PGBOUNCER_LISTEN_PORT", "6432"},
    {"supabase/supavisor", "supavisor", "", "PROXY_PORT_TRANSACTION", "6543"},
};

class YamlPoolers {
 public:
  YamlPoolers(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  std::vector<Pooler> read() {
    const std::vector<YamlNode> documents = readYaml(text_);
    for (const YamlNode& d : documents) {
      for (const auto& [name, service] : d["services"].fields) composeService(name, service);
      kubernetes(d, documents);
    }
    return std::move(found_);
  }

 private:
  Location placeOf(const YamlNode& n) const {
    const std::size_t line_end = std::min(text_.find('\n', n.begin), text_.size());
    const auto end = static_cast<std::uint32_t>(std::min<std::size_t>(n.end, line_end));
    return {path_, n.line, n.column, n.line, n.column + (end - n.begin), n.begin, end};
  }

  // `mode` is null where the default counts.
  void add(std::string_view program, const std::string& port, std::vector<std::string> hosts, PoolMode mode, const YamlNode* mode_at) {
    Pooler p{std::string(program), path_, port, {}, std::move(hosts)};
    p.pools.push_back({"*", "", "", "", mode, mode_at != nullptr ? placeOf(*mode_at) : Location{}});
    found_.push_back(std::move(p));
  }

  struct Started {
    const Image* image = nullptr;
    PoolMode mode = PoolMode::Session;
    const YamlNode* mode_at = nullptr;
    std::string port;
  };

  // A container with a pooler's image, whose mode is known.
  static std::optional<Started> started(const std::string& image, const Environment& env) {
    const auto known = std::find_if(std::begin(kImages), std::end(kImages), [&](const Image& i) { return image.find(i.part) != std::string::npos; });
    if (known == std::end(kImages)) return std::nullopt;
    Started s{known, PoolMode::Session, nullptr, std::string(known->default_port)};
    if (known->mode.empty()) s.mode = PoolMode::Transaction;
    for (const std::string& name : {std::string(known->mode), std::string("POOL_MODE"), std::string("PGBOUNCER_POOL_MODE")}) {
      const auto at = env.find(name);
      if (known->mode.empty() || at == env.end() || s.mode_at != nullptr) continue;
      const auto value = get(env, name);
      const auto mode = value ? poolModeOf(*value) : std::nullopt;
      if (!mode) return std::nullopt;
      s.mode = *mode, s.mode_at = at->second;
    }
    if (env.contains(std::string(known->port))) {
      const auto port = get(env, std::string(known->port));
      if (!port) return std::nullopt;
      s.port = *port;
    }
    return s;
  }

  void composeService(const std::string& name, const YamlNode& service) {
    const std::optional<Started> s = started(service["image"].text, environmentOf(service["environment"]));
    if (!s) return;
    std::vector<std::string> hosts{name};
    for (const std::string& other : {service["container_name"].text, service["hostname"].text})
      if (!other.empty()) hosts.push_back(other);
    add(s->image->program, s->port, std::move(hosts), s->mode, s->mode_at);
    for (const YamlNode& p : service["ports"].items)
      if (const std::string port = published(p, s->port); !port.empty()) add(s->image->program, port, {"localhost", "127.0.0.1", "::1", "host.docker.internal"}, s->mode, s->mode_at);
  }

  // "6432:5432", "127.0.0.1:6432:5432/tcp", {published: 6432, target: 5432}: the host's port for this one; empty: another one, or not known.
  static std::string published(const YamlNode& p, const std::string& port) {
    if (p.isMapping()) return p["target"].text == port ? valueOf(p["published"].text).value_or("") : "";
    const std::string text = p.text.substr(0, p.text.find('/'));
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || text.substr(colon + 1) != port) return "";
    const std::string host = text.substr(0, colon);
    const std::size_t brace = host.find("${"), before = host.rfind(':', brace);
    return valueOf(host.substr(before == std::string::npos ? 0 : before + 1)).value_or("");
  }

  void kubernetes(const YamlNode& d, const std::vector<YamlNode>& all) {
    const std::string &kind = d["kind"].text, &name = d["metadata"]["name"].text, &api = d["apiVersion"].text;
    const YamlNode& spec = d["spec"];
    if (kind == "List")
      for (const YamlNode& item : d["items"].items) kubernetes(item, d["items"].items);
    if (kind == "ConfigMap")
      for (const auto& [file, text] : d["data"].fields) configuration(file, text);
    if (name.empty()) return;
    if (kind == "Pooler" && api.starts_with("postgresql.cnpg.io/")) operators(spec["pgbouncer"]["poolMode"], PoolMode::Session, {name});
    if (kind == "postgresql" && api.starts_with("acid.zalan.do/") && (spec["enableConnectionPooler"].text == "true" || spec["connectionPooler"].isMapping()) &&
        spec["enableConnectionPooler"].text != "false")
      operators(spec["connectionPooler"]["mode"], PoolMode::Transaction, {name + "-pooler", name + "-pooler-repl"});
    if (kind == "PostgresCluster" && spec["proxy"]["pgBouncer"].isMapping())
      operators(spec["proxy"]["pgBouncer"]["config"]["global"]["pool_mode"], PoolMode::Session, {name + "-pgbouncer"});
    const YamlNode& pod = spec["template"];
    for (const YamlNode& c : pod["spec"]["containers"].items) container(c, pod["metadata"]["labels"], all);
  }

  void operators(const YamlNode& mode, PoolMode by_default, std::vector<std::string> hosts) {
    if (mode.kind == YamlNode::Kind::Null) return add("pgbouncer", "5432", std::move(hosts), by_default, nullptr);
    if (const auto known = poolModeOf(mode.text)) add("pgbouncer", "5432", std::move(hosts), *known, &mode);
  }

  // The services whose selector picks the pod lead to the container, under their own names and ports.
  void container(const YamlNode& c, const YamlNode& labels, const std::vector<YamlNode>& all) {
    const std::optional<Started> s = started(c["image"].text, environmentOf(c["env"]));
    if (!s) return;
    for (const YamlNode& d : all) {
      const YamlNode& selector = d["spec"]["selector"];
      const bool picks = d["kind"].text == "Service" && !selector.fields.empty() &&
                         std::all_of(selector.fields.begin(), selector.fields.end(), [&](const auto& f) { return labels[f.first].text == f.second.text; });
      if (!picks) continue;
      for (const YamlNode& port : d["spec"]["ports"].items) add(s->image->program, port["port"].text, {d["metadata"]["name"].text}, s->mode, s->mode_at);
    }
  }

  // data: pgbouncer.ini: | …. Places are found again line by line: the block is indented, and nothing else differs.
  void configuration(const std::string& file, const YamlNode& text) {
    if (text.kind != YamlNode::Kind::Scalar) return;
    std::vector<Pooler> inside = readPoolerFile(file, text.text);
    for (Pooler& p : inside) {
      p.file = path_;
      for (Pool& pool : p.pools)
        if (!pool.mode_at.file.empty()) pool.mode_at = placeInside(text, pool.mode_at);
      found_.push_back(std::move(p));
    }
  }

  Location placeInside(const YamlNode& block, const Location& inside) const {
    std::size_t begin = block.begin;
    for (std::uint32_t line = 0; line < inside.line && begin != std::string_view::npos; ++line) {
      begin = text_.find('\n', begin);
      if (begin != std::string_view::npos) ++begin;
    }
    const std::string_view written = std::string_view(block.text).substr(inside.begin, inside.end - inside.begin);
    const std::size_t at = begin == std::string_view::npos ? begin : text_.find(written, begin);
    if (at == std::string_view::npos || at >= block.end) return placeOf(block);
    const auto line = block.line + inside.line, column = static_cast<std::uint32_t>(at - begin + 1), size = static_cast<std::uint32_t>(written.size());
    return {path_, line, column, line, column + size, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at) + size};
  }

  const std::string& path_;
  std::string_view text_;
  std::vector<Pooler> found_;
};

}  // namespace

bool isYamlName(std::string_view path) {
  const std::string name = lowered(path.substr(path.rfind('/') + 1));
  return name.ends_with(".yaml") || name.ends_with(".yml");
}

bool namesPooler(std::string_view text) {
  static constexpr std::string_view kWords[] = {"bouncer", "Bouncer", "supavisor", "pgcat", "odyssey", "onnectionPooler"};
  return std::any_of(std::begin(kWords), std::end(kWords), [&](std::string_view w) { return text.find(w) != std::string_view::npos; });
}

std::vector<Pooler> readYamlPoolers(const std::string& path, std::string_view text) {
  return namesPooler(text) ? YamlPoolers(path, text).read() : std::vector<Pooler>{};
}

}  // namespace pglocklint
