// The fuzzers' end of the pipe to peer.cpp.
#pragma once
#include <sys/types.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace pglocklint::differential {

class PeerClient {
 public:
  // Starts the program; throws std::runtime_error if that fails.
  explicit PeerClient(const std::string& program);
  ~PeerClient();
  PeerClient(const PeerClient&) = delete;
  PeerClient& operator=(const PeerClient&) = delete;

  // Throws std::runtime_error if the program died.
  nlohmann::json ask(const nlohmann::json& request);

 private:
  pid_t pid_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

}  // namespace pglocklint::differential
