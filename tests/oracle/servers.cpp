#include "oracle/servers.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "support/process.h"

namespace pglocklint::oracle {

namespace fs = std::filesystem;

namespace {

bool isSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value;
}

// "postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)": 15 and "15.20".
std::optional<ServerProgram> serverIn(const fs::path& bin) {
  std::error_code ignored;
  if (!fs::exists(bin / "postgres", ignored) || !fs::exists(bin / "initdb", ignored)) return std::nullopt;
  const test::Outcome said = test::run({(bin / "postgres").string(), "--version"}, "/");
  std::istringstream words(said.out);
  std::string postgres, product, version;
  if (!(words >> postgres >> product >> version) || product != "(PostgreSQL)") return std::nullopt;
  const int major = std::atoi(version.c_str());
  if (major == 0) return std::nullopt;
  return ServerProgram{major, version, bin};
}

std::vector<fs::path> subfolders(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) found.push_back(entry.path() / "bin");
  std::ranges::sort(found);
  return found;
}

const fs::path kDistribution = "/usr/lib/postgresql";

}  // namespace

std::vector<ServerProgram> installedServers() {
  std::vector<fs::path> folders;
  if (isSet("PGLOCKLINT_POSTGRES")) {
    std::istringstream list(std::getenv("PGLOCKLINT_POSTGRES"));
    for (std::string folder; std::getline(list, folder, ':');) folders.emplace_back(folder);
  }
  for (const fs::path& base : {kDistribution, fs::path(PGLOCKLINT_SOURCE_DIR) / "build/postgres"})
    for (const fs::path& folder : subfolders(base)) folders.push_back(folder);
  std::map<int, ServerProgram> found;
  for (const fs::path& folder : folders)
    if (const auto server = serverIn(folder)) found.emplace(server->major, *server);
  std::vector<ServerProgram> result;
  for (const auto& [major, server] : found) result.push_back(server);
  return result;
}

std::vector<ServerProgram> serversOfThisRun() {
  std::vector<ServerProgram> all = installedServers();
  if (all.size() <= 2 || isSet("PGLOCKLINT_ALL_VERSIONS")) return all;
  const auto distribution = std::ranges::find_if(
      all, [](const ServerProgram& s) { return s.bin.string().starts_with(kDistribution.string() + "/"); });
  const ServerProgram first = distribution == all.end() ? all.front() : *distribution;
  if (first.major == all.back().major) return {all.front(), first};
  return {first, all.back()};
}

TestServer::TestServer(ServerProgram program, const std::vector<std::string>& settings) : program_(std::move(program)) {
  int keep[2], answer[2];
  if (pipe2(keep, O_CLOEXEC) != 0 || pipe2(answer, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, keep[0], 0);
  posix_spawn_file_actions_adddup2(&actions, answer[1], 1);
  const std::string bin = program_.bin.string();
  std::vector<char*> arguments{const_cast<char*>(PG_TESTSERVER), const_cast<char*>(bin.c_str())};
  for (const std::string& setting : settings) arguments.push_back(const_cast<char*>(setting.c_str()));
  arguments.push_back(nullptr);
  const int failure = posix_spawn(&supervisor_, PG_TESTSERVER, &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(keep[0]);
  close(answer[1]);
  keep_ = keep[1];
  answer_ = answer[0];
  if (failure) throw std::runtime_error(std::string("cannot run ") + PG_TESTSERVER);
}

TestServer::~TestServer() {
  close(keep_);
  close(answer_);
  if (supervisor_ > 0) waitpid(supervisor_, nullptr, 0);
}

void TestServer::wait() {
  if (!folder_.empty()) return;
  std::string line;
  for (char c = 0; read(answer_, &c, 1) == 1 && c != '\n';) line += c;
  if (!line.starts_with("ready ")) {
    for (char c = 0; read(answer_, &c, 1) == 1;) line += c;
    throw std::runtime_error("PostgreSQL " + program_.version + " from " + program_.bin.string() + ": " + line);
  }
  folder_ = line.substr(6);
}

std::string TestServer::conninfo(const std::string& database) const {
  return "host=" + folder_.string() + " port=5432 user=postgres dbname=" + database;
}

const std::vector<std::unique_ptr<TestServer>>& testServers() {
  static const std::vector<std::unique_ptr<TestServer>> kServers = [] {
    std::vector<std::unique_ptr<TestServer>> started;
    for (const ServerProgram& program : serversOfThisRun()) started.push_back(std::make_unique<TestServer>(program));
    for (const auto& server : started) server->wait();  // they start side by side
    return started;
  }();
  return kServers;
}

int statusWithoutServers() {
  if (!installedServers().empty()) return 0;
  std::cerr << "\n*** NO POSTGRESQL SERVER IS INSTALLED: nothing was tested here. scripts/setup --tests installs some. ***\n\n";
  return isSet("CI") ? 1 : 77;
}

}  // namespace pglocklint::oracle
