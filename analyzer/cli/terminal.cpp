#include "cli/terminal.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "report/source_text.h"

namespace pglocklint {
namespace {

constexpr std::size_t kUsualWidth = 100;

bool writeAll(std::FILE* file, std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
}

}  // namespace

std::string writeOutput(std::string_view text, const std::string& file) {
  if (file.empty())
    return writeAll(stdout, text) ? "" : fmt::format("cannot write to standard output: {}", std::strerror(errno));
  std::FILE* out = std::fopen(file.c_str(), "wb");
  if (out == nullptr) return fmt::format("cannot write {}: {}", file, std::strerror(errno));
  bool written = writeAll(out, text);
  const int error = errno;
  if (std::fclose(out) != 0) written = false;
  return written ? "" : fmt::format("cannot write {}: {}", file, std::strerror(error));
}

void complain(std::string_view what) { fmt::print(stderr, "pglocklint: {}\n", printable(what)); }

bool wantsColor(ColorWhen when, bool to_file) {
  if (when != ColorWhen::Auto) return when == ColorWhen::Always;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return !to_file && (no_color == nullptr || *no_color == '\0') && (term == nullptr || std::string_view(term) != "dumb") &&
         isatty(STDOUT_FILENO) == 1;
}

std::size_t outputWidth(bool to_file) {
  winsize size{};
  if (to_file || isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualWidth;
  return std::clamp<std::size_t>(size.ws_col, 60, 140);
}

Progress::Progress(std::string stage) : stage_(std::move(stage)) {
  if (isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { run(); });
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::stage(std::string what) {
  const std::lock_guard lock(mutex_);
  stage_ = std::move(what);
  if (shown_) print();
}

void Progress::run() {
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; })) return;
  shown_ = true;
  print();
}

void Progress::print() { fmt::print(stderr, "\r\x1b[Kpglocklint: {} …", stage_); }

}  // namespace pglocklint
