#include "source/parallel.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

namespace pglocklint {
namespace {

struct Work {
  std::size_t n = 0;
  const std::function<void(std::size_t)>* f = nullptr;
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  std::size_t failed_index = 0;

  void run() {
    for (std::size_t i = next++; i < n; i = next++) {
      try {
        (*f)(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure || i < failed_index) {
          failure = std::current_exception();
          failed_index = i;
        }
      }
    }
  }
};

void* runWork(void* work) {
  static_cast<Work*>(work)->run();
  return nullptr;
}

// Starts a thread; where address space is scarce (ulimit -v), with a smaller stack rather than not at all.
bool start(pthread_t& thread, std::size_t stack_bytes, Work& work) {
  constexpr std::size_t kSmallest = std::size_t{1} << 20;
  for (std::size_t size = std::max(stack_bytes, kSmallest); size >= kSmallest; size /= 2) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    const bool ok = pthread_attr_setstacksize(&attributes, size) == 0 && pthread_create(&thread, &attributes, runWork, &work) == 0;
    pthread_attr_destroy(&attributes);
    if (ok) return true;
  }
  return false;
}

}  // namespace

void parallelFor(std::size_t n, unsigned threads, std::size_t stack_bytes, const std::function<void(std::size_t)>& f) {
  if (n == 0) return;
  if (threads == 0) threads = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  Work work;
  work.n = n;
  work.f = &f;
  std::vector<pthread_t> running;
  for (std::size_t i = 0; i < std::min<std::size_t>(threads, n); ++i) {
    pthread_t thread;
    if (!start(thread, stack_bytes, work)) break;
    running.push_back(thread);
  }
  if (running.empty()) work.run();
  for (const pthread_t thread : running) pthread_join(thread, nullptr);
  if (work.failure) std::rethrow_exception(work.failure);
}

}  // namespace pglocklint
