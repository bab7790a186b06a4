#include "peer_client.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <mutex>
#include <stdexcept>

namespace pglocklint::differential {

PeerClient::PeerClient(const std::string& program) {
  std::signal(SIGPIPE, SIG_IGN);
  int in[2], out[2];
  // Close-on-exec: a peer that another thread starts must not keep this one's pipe open.
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    execl(program.c_str(), program.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_ = fdopen(in[1], "w");
  from_ = fdopen(out[0], "r");
}

PeerClient::~PeerClient() {
  if (to_) std::fclose(to_);
  if (from_) std::fclose(from_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

nlohmann::json PeerClient::ask(const nlohmann::json& request) {
  const std::string line = request.dump() + "\n";
  if (std::fwrite(line.data(), 1, line.size(), to_) != line.size() || std::fflush(to_) != 0)
    throw std::runtime_error("the analyzer's side has died of: " + line);
  char* text = nullptr;
  std::size_t capacity = 0;
  const ssize_t length = getline(&text, &capacity, from_);
  std::string answer(text ? text : "", length > 0 ? static_cast<std::size_t>(length) : 0);
  std::free(text);
  if (length <= 0) throw std::runtime_error("the analyzer's side has died of: " + line);
  return nlohmann::json::parse(answer);
}

}  // namespace pglocklint::differential
