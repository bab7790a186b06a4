# libpg_query: Debian ships it without a .pc file and without depending on protobuf-c's header, which its own header needs.
# The static library holds protobuf-c and xxhash itself; only pthread is needed beside it.
find_path(PGQ_INCLUDE pg_query.h HINTS ${PGLOCKLINT_LIBPG_QUERY}/include ${PGLOCKLINT_LIBPG_QUERY} REQUIRED)
find_path(PGQ_PROTOBUF pg_query/pg_query.pb-c.h HINTS ${PGLOCKLINT_LIBPG_QUERY}/include ${PGLOCKLINT_LIBPG_QUERY} REQUIRED)
find_library(PGQ_LIBRARY NAMES libpg_query.a pg_query
             HINTS ${PGLOCKLINT_LIBPG_QUERY}/lib ${PGLOCKLINT_LIBPG_QUERY}/lib/x86_64-linux-gnu ${PGLOCKLINT_LIBPG_QUERY} REQUIRED)
find_path(PROTOBUF_C_INCLUDE protobuf-c/protobuf-c.h REQUIRED)
add_library(pg_query UNKNOWN IMPORTED)
set_target_properties(pg_query PROPERTIES
  IMPORTED_LOCATION ${PGQ_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES "${PGQ_INCLUDE};${PGQ_PROTOBUF};${PROTOBUF_C_INCLUDE}"
  INTERFACE_LINK_LIBRARIES pthread)
