// The hash functions that PostgreSQL offers in SQL and that projects turn into lock keys, computed as PostgreSQL computes them, so
// that collisions between written keys are found and a number in pg_locks can be turned back into a name.
//
// hash_bytes() and hash_bytes_extended() of src/common/hashfn.c are Bob Jenkins' lookup3, last changed for PostgreSQL 11; the 32-bit
// result is the low half of the 64-bit one with seed 0. Words are read little-endian: a big-endian server hashes text the same way.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace pglocklint {

std::uint32_t hashBytes(std::string_view bytes);
std::uint64_t hashBytesExtended(std::string_view bytes, std::uint64_t seed);
std::int64_t hashint4extended(std::int32_t v, std::int64_t seed);
std::int64_t hashint8extended(std::int64_t v, std::int64_t seed);

}  // namespace pglocklint
