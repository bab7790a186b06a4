// Whole files into memory.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace pglocklint {

inline constexpr std::uint64_t kLargestFile = std::uint64_t{2} << 30;  // offsets have 32 bits

struct FileText {
  std::string text;
  std::string error;  // empty, or why there is no text: "permission denied"
};

// Reads a regular file. Pipes, sockets and devices are refused: they could wait forever.
FileText readFile(const std::string& path, std::uint64_t largest = kLargestFile);

// errno in our words: "no such file or directory", in any locale.
std::string systemError(int error);

// A path for messages: control bytes, which could move a terminal's cursor, are written as \x1b.
std::string printablePath(std::string_view path);

}  // namespace pglocklint
