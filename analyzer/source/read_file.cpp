#include "source/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace pglocklint {
namespace {

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

std::string tooLarge(std::uint64_t largest) {
  return largest >= (1u << 30) ? "larger than " + std::to_string(largest >> 30) + " GiB"
                               : "larger than " + std::to_string(largest) + " bytes";
}

}  // namespace

std::string systemError(int error) {
  switch (error) {
    case EACCES:
    case EPERM: return "permission denied";
    case ENOENT: return "no such file or directory";
    case ENOTDIR: return "not a directory";
    case EISDIR: return "is a directory";
    case ELOOP: return "too many levels of symbolic links";
    case ENAMETOOLONG: return "file name too long";
    case EMFILE:
    case ENFILE: return "too many open files";
    case ENOMEM: return "out of memory";
    case EIO: return "input/output error";
    default: return "system error " + std::to_string(error);
  }
}

FileText readFile(const std::string& path, std::uint64_t largest) {
  FileText result;
  if (path.find('\0') != std::string::npos) return {"", systemError(ENOENT)};
  Descriptor file;
  // O_NONBLOCK: opening a pipe without a writer must not wait.
  file.fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.fd < 0) return {"", systemError(errno)};
  struct stat info {};
  if (fstat(file.fd, &info) != 0) return {"", systemError(errno)};
  if (S_ISDIR(info.st_mode)) return {"", systemError(EISDIR)};
  if (!S_ISREG(info.st_mode)) return {"", "not a regular file"};
  if (static_cast<std::uint64_t>(info.st_size) > largest) return {"", tooLarge(largest)};

  // One byte more than the size says, so that the end is seen without growing; files of /proc have size 0.
  std::string& text = result.text;
  text.resize(static_cast<std::size_t>(info.st_size) + 1);
  std::size_t size = 0;
  for (;;) {
    if (size == text.size()) text.resize(text.size() * 2);
    const ssize_t n = read(file.fd, text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {"", systemError(errno)};
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
    if (size > largest) return {"", tooLarge(largest)};
  }
  text.resize(size);
  return result;
}

std::string printablePath(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
    out += escaped;
  }
  return out;
}

}  // namespace pglocklint
