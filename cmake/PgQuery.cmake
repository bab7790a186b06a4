# libpg_query: Debian ships it without a .pc file and without depending on protobuf-c's header, which its own header needs.
# The static library holds protobuf-c and xxhash itself; only pthread is needed beside it.
#
# PGLOCKLINT_LIBPG_QUERY names a folder with another one: an unpacked Debian package (usr/include, usr/lib/<arch>), its usr
# folder, or header and library side by side. Then nothing else is looked at, so that a wrong folder cannot fall back to the
# system's grammar.
set(pgq_only "")
if(PGLOCKLINT_LIBPG_QUERY)
  set(pgq_only NO_DEFAULT_PATH)
endif()
set(pgq_roots ${PGLOCKLINT_LIBPG_QUERY} ${PGLOCKLINT_LIBPG_QUERY}/usr)
if(NOT "${PGQ_FOUND_FOR}" STREQUAL "${PGLOCKLINT_LIBPG_QUERY}")
  unset(PGQ_INCLUDE CACHE)
  unset(PGQ_PROTOBUF CACHE)
  unset(PGQ_LIBRARY CACHE)
endif()
find_path(PGQ_INCLUDE pg_query.h HINTS ${pgq_roots} PATH_SUFFIXES include ${pgq_only} REQUIRED)
find_path(PGQ_PROTOBUF pg_query/pg_query.pb-c.h HINTS ${pgq_roots} PATH_SUFFIXES include ${pgq_only} REQUIRED)
find_library(PGQ_LIBRARY NAMES libpg_query.a pg_query HINTS ${pgq_roots}
             PATH_SUFFIXES lib lib/${CMAKE_LIBRARY_ARCHITECTURE} linux . ${pgq_only} REQUIRED)
find_path(PROTOBUF_C_INCLUDE protobuf-c/protobuf-c.h REQUIRED)
set(PGQ_FOUND_FOR "${PGLOCKLINT_LIBPG_QUERY}" CACHE INTERNAL "The folder that the PGQ_ paths were found for")

add_library(pg_query UNKNOWN IMPORTED)
set_target_properties(pg_query PROPERTIES
  IMPORTED_LOCATION ${PGQ_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES "${PGQ_INCLUDE};${PGQ_PROTOBUF};${PROTOBUF_C_INCLUDE}"
  INTERFACE_LINK_LIBRARIES pthread)
