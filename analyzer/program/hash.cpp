// lookup3 as PostgreSQL has it; see hash.h.
#include "program/hash.h"

#include <md5.h>

#include <bit>

#include "program/keys.h"

namespace pglocklint {
namespace {

struct State {
  std::uint32_t a, b, c;

  explicit State(std::size_t length)
      : a(0x9e3779b9u + static_cast<std::uint32_t>(length) + 3923095u), b(a), c(a) {}

  void mix() {
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
  }
  void finish() {
    c ^= b, c -= std::rotl(b, 14);
    a ^= c, a -= std::rotl(c, 11);
    b ^= a, b -= std::rotl(a, 25);
    c ^= b, c -= std::rotl(b, 16);
    a ^= c, a -= std::rotl(c, 4);
    b ^= a, b -= std::rotl(a, 14);
    c ^= b, c -= std::rotl(b, 24);
  }
  void seed(std::uint64_t value) {
    if (value == 0) return;
    a += static_cast<std::uint32_t>(value >> 32);
    b += static_cast<std::uint32_t>(value);
    mix();
  }
  // Up to four bytes from `at`, little-endian; bytes beyond the end count as zero.
  static std::uint32_t word(std::string_view s, std::size_t at) {
    std::uint32_t w = 0;
    for (std::size_t i = 0; i < 4 && at + i < s.size(); ++i)
      w |= static_cast<std::uint32_t>(static_cast<unsigned char>(s[at + i])) << (8 * i);
    return w;
  }
  void absorb(std::string_view s) {
    for (; s.size() >= 12; s.remove_prefix(12)) {
      a += word(s, 0), b += word(s, 4), c += word(s, 8);
      mix();
    }
    // The lowest byte of c belongs to the length, so the tail enters it one byte higher.
    a += word(s, 0), b += word(s, 4), c += word(s, 8) << 8;
    finish();
  }
  std::uint64_t both() const { return static_cast<std::uint64_t>(b) << 32 | c; }
};

// PostgreSQL folds a bigint so that it hashes like the integer of the same value.
std::uint32_t foldHalves(std::int64_t v) {
  const auto low = static_cast<std::uint32_t>(v);
  const auto high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(v) >> 32);
  return low ^ (v >= 0 ? high : ~high);
}

State hashWord(std::uint32_t k, std::uint64_t seed) {
  State s(sizeof k);
  s.seed(seed);
  s.a += k;
  s.finish();
  return s;
}

}  // namespace

std::uint32_t hashBytes(std::string_view bytes) {
  State s(bytes.size());
  s.absorb(bytes);
  return s.c;
}

std::uint64_t hashBytesExtended(std::string_view bytes, std::uint64_t seed) {
  State s(bytes.size());
  s.seed(seed);
  s.absorb(bytes);
  return s.both();
}

std::int32_t hashtext(std::string_view utf8) { return static_cast<std::int32_t>(hashBytes(utf8)); }

std::int64_t hashtextextended(std::string_view utf8, std::int64_t seed) {
  return static_cast<std::int64_t>(hashBytesExtended(utf8, static_cast<std::uint64_t>(seed)));
}

std::int32_t hashint4(std::int32_t v) { return static_cast<std::int32_t>(hashWord(static_cast<std::uint32_t>(v), 0).c); }

std::int32_t hashint8(std::int64_t v) { return static_cast<std::int32_t>(hashWord(foldHalves(v), 0).c); }

std::int64_t hashint4extended(std::int32_t v, std::int64_t seed) {
  return static_cast<std::int64_t>(hashWord(static_cast<std::uint32_t>(v), static_cast<std::uint64_t>(seed)).both());
}

std::int64_t hashint8extended(std::int64_t v, std::int64_t seed) {
  return static_cast<std::int64_t>(hashWord(foldHalves(v), static_cast<std::uint64_t>(seed)).both());
}

std::string md5Hex(std::string_view bytes) {
  MD5_CTX context;
  MD5Init(&context);
  MD5Update(&context, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  std::uint8_t digest[MD5_DIGEST_LENGTH];
  MD5Final(digest, &context);
  std::string hex;
  for (const std::uint8_t byte : digest) hex += "0123456789abcdef"[byte >> 4], hex += "0123456789abcdef"[byte & 15];
  return hex;
}

}  // namespace pglocklint
