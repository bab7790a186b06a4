#include "source/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

extern char** environ;

namespace pglocklint {
namespace {

class Pipe {
 public:
  Pipe() { ok_ = pipe2(ends_, O_CLOEXEC) == 0; }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    closeReader();
    closeWriter();
  }
  bool ok() const { return ok_; }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void closeReader() { closeEnd(ends_[0]); }
  void closeWriter() { closeEnd(ends_[1]); }

 private:
  static void closeEnd(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
  int ends_[2] = {-1, -1};
  bool ok_ = false;
};

std::vector<std::string> environmentFor(const ProcessRequest& request) {
  std::vector<std::string> result = request.environment;
  const auto named = [](std::string_view entry, std::string_view name) {
    return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
  };
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view variable(*entry);
    const auto matches = [&](const std::string& name) { return named(variable, name); };
    const auto replaced = [&](const std::string& addition) { return named(variable, addition.substr(0, addition.find('='))); };
    if (std::ranges::any_of(request.without, matches) || std::ranges::any_of(request.environment, replaced)) continue;
    result.emplace_back(variable);
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

// Appends what can be read now; false at the end.
bool readSome(int fd, std::string& into) {
  std::array<char, 65536> buffer;
  const ssize_t n = read(fd, buffer.data(), buffer.size());
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  into.append(buffer.data(), static_cast<std::size_t>(n));
  return n > 0;
}

using Clock = std::chrono::steady_clock;

// Milliseconds for poll(): -1 waits for ever.
int remaining(std::optional<Clock::time_point> deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - Clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(left) + 1;
}

// Feeds and drains the three pipes together, so that neither side waits for the other for ever.
void exchange(Pipe& in, Pipe& out, Pipe& err, std::string_view input, std::optional<Clock::time_point> deadline, std::size_t most_output,
              ProcessResult& result) {
  fcntl(in.writer(), F_SETFL, O_NONBLOCK);
  if (input.empty()) in.closeWriter();
  while (out.reader() >= 0 || err.reader() >= 0) {
    std::array<pollfd, 3> polled{{{out.reader(), POLLIN, 0}, {err.reader(), POLLIN, 0}, {in.writer(), POLLOUT, 0}}};
    const int ready = poll(polled.data(), polled.size(), remaining(deadline));
    const bool too_much = most_output > 0 && result.out.size() + result.err.size() > most_output;
    if (too_much || (ready == 0 && deadline && Clock::now() >= *deadline)) {
      result.timed_out = true;
      return;
    }
    if (ready < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (polled[0].revents != 0 && !readSome(out.reader(), result.out)) out.closeReader();
    if (polled[1].revents != 0 && !readSome(err.reader(), result.err)) err.closeReader();
    if (polled[2].revents != 0) {
      const ssize_t n = write(in.writer(), input.data(), std::min<std::size_t>(input.size(), 65536));
      if (n > 0) input.remove_prefix(static_cast<std::size_t>(n));
      if ((n < 0 && errno != EINTR && errno != EAGAIN) || input.empty()) in.closeWriter();
    }
  }
}

// A program that ends early must cost us a failed write, not our life.
class IgnoreBrokenPipe {
 public:
  IgnoreBrokenPipe() {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before_);
  }
  ~IgnoreBrokenPipe() {
    if (!sigismember(&before_, SIGPIPE)) {
      sigset_t pipe;
      sigemptyset(&pipe);
      sigaddset(&pipe, SIGPIPE);
      const timespec now{};
      while (sigtimedwait(&pipe, nullptr, &now) > 0) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  IgnoreBrokenPipe(const IgnoreBrokenPipe&) = delete;
  IgnoreBrokenPipe& operator=(const IgnoreBrokenPipe&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

ProcessResult runProcess(const ProcessRequest& request) {
  ProcessResult result;
  Pipe in, out, err;
  if (!in.ok() || !out.ok() || !err.ok() || request.arguments.empty()) return result;
  std::vector<std::string> arguments = request.arguments, environment = environmentFor(request);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.reader(), 0);
  posix_spawn_file_actions_adddup2(&actions, out.writer(), 1);
  posix_spawn_file_actions_adddup2(&actions, err.writer(), 2);
  if (!request.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, request.folder.c_str());
  pid_t child = -1;
  const int failed =
      posix_spawnp(&child, arguments[0].c_str(), &actions, nullptr, pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return result;
  if (request.processor_seconds > 0) {
    const auto most = static_cast<rlim_t>(request.processor_seconds);
    const rlimit limit{most, most + 5};
    (void)prlimit(child, RLIMIT_CPU, &limit, nullptr);
  }
  in.closeReader();
  out.closeWriter();
  err.closeWriter();
  {
    const IgnoreBrokenPipe guard;
    const auto deadline = request.seconds > 0 ? std::optional(Clock::now() + std::chrono::seconds(request.seconds)) : std::nullopt;
    exchange(in, out, err, request.input, deadline, request.most_output, result);
  }
  if (result.timed_out) kill(child, SIGKILL);
  in.closeWriter();
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return result;
  }
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  result.out_of_processor_time = WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU;
  return result;
}

ProcessResult runGit(std::vector<std::string> arguments, const std::string& folder, std::string_view input, bool index_of_hook) {
  ProcessRequest request;
  // The repository is not ours: its configuration must not make git run programs.
  request.arguments = {"git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=off"};
  request.arguments.insert(request.arguments.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
  request.folder = folder;
  request.input = input;
  request.environment = {"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1"};
  request.without = {"GIT_DIR", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF", "GIT_LITERAL_PATHSPECS"};
  if (const char* index = std::getenv("GIT_INDEX_FILE"); index_of_hook && index && *index) {
    request.environment.push_back("GIT_INDEX_FILE=" + std::filesystem::absolute(index).string());
  }
  return runProcess(request);
}

}  // namespace pglocklint
