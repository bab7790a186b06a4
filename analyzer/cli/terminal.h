// What the program writes, and where: reports to a file or standard output, one line about a failure to standard error.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "cli/options.h"

namespace pglocklint {

// Writes all of it, to `file` or (empty) to standard output. Empty on success, else what is wrong.
std::string writeOutput(std::string_view text, const std::string& file);

// "pglocklint: …" on standard error, with what a terminal must not be given escaped.
void complain(std::string_view what);

// Colours: as asked for; by itself on a terminal, unless NO_COLOR is set.
bool wantsColor(ColorWhen when, bool to_file);

// Columns of the terminal on standard output, or 100 when it is none.
std::size_t outputWidth(bool to_file);

// Says on standard error what is being done, if that is a terminal and it takes more than a second.
class Progress {
 public:
  explicit Progress(std::string stage);
  ~Progress();
  void stage(std::string what);

 private:
  void run();
  void print();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string stage_;
  bool done_ = false, shown_ = false;
  std::thread thread_;
};

}  // namespace pglocklint
