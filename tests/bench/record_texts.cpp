// pglocklint as it is, but each text that it hands to libpg_query is also written to the file $PGLOCKLINT_TEXTS: four bytes of length, then the
// text. The linker puts this in between (--wrap). So the peer of scripts/bench gets exactly our texts: also those inside of function bodies,
// which we cut into statements and expressions ourselves.
#include <pg_query.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

extern "C" PgQueryProtobufParseResult __real_pg_query_parse_protobuf(const char* text);

extern "C" PgQueryProtobufParseResult __wrap_pg_query_parse_protobuf(const char* text) {
  static std::mutex mutex;
  static std::FILE* const file = [] {
    const char* name = std::getenv("PGLOCKLINT_TEXTS");
    return name ? std::fopen(name, "wb") : nullptr;
  }();
  if (file) {
    const std::lock_guard lock(mutex);
    const auto size = static_cast<std::uint32_t>(std::strlen(text));
    std::fwrite(&size, sizeof size, 1, file);
    std::fwrite(text, 1, size, file);
  }
  return __real_pg_query_parse_protobuf(text);
}
