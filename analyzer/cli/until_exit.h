// What lives as long as the process.
#pragma once

namespace pglocklint {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kDestroyAtExit = true;  // a sanitizer wants to see destructors, and no leaks
#else
inline constexpr bool kDestroyAtExit = false;
#endif

// An object that is not destroyed: when the process ends, the system takes back the memory of a large program faster than a million
// destructors would.
template <class T>
class UntilExit {
 public:
  template <class Make>
  explicit UntilExit(Make&& make) : object_(new T(make())) {}
  UntilExit(const UntilExit&) = delete;
  UntilExit& operator=(const UntilExit&) = delete;
  ~UntilExit() {
    if constexpr (kDestroyAtExit) delete object_;
  }
  T& operator*() const { return *object_; }

 private:
  T* object_;
};

}  // namespace pglocklint
