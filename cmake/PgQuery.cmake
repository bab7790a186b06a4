# libpg_query: Debian ships it without a .pc file and without depending on protobuf-c's header, which its own header needs.
# The static library holds protobuf-c and xxhash itself; only pthread is needed beside it. It must be the static one: the linker wraps calls
# inside of it (pg_parse.cpp).
#
# PGLOCKLINT_LIBPG_QUERY names a folder with another one: a source tree in which `make build` ran, an installed prefix (include/, lib/), or an
# unpacked Debian package (usr/include, usr/lib/<arch>). Then nothing else is looked at, so that a wrong folder cannot fall back to the
# system's grammar.
set(pgq_only "")
if(PGLOCKLINT_LIBPG_QUERY)
  set(pgq_only NO_DEFAULT_PATH)
endif()
set(pgq_roots ${PGLOCKLINT_LIBPG_QUERY} ${PGLOCKLINT_LIBPG_QUERY}/usr)
if(NOT "${PGQ_FOUND_FOR}" STREQUAL "${PGLOCKLINT_LIBPG_QUERY}")
  foreach(found PGQ_INCLUDE PGQ_PROTOBUF PGQ_LIBRARY PROTOBUF_C_INCLUDE)
    unset(${found} CACHE)
  endforeach()
endif()
set(PGQ_FOUND_FOR "${PGLOCKLINT_LIBPG_QUERY}" CACHE INTERNAL "The folder that the PGQ_ paths were found for")

find_path(PGQ_INCLUDE pg_query.h HINTS ${pgq_roots} PATH_SUFFIXES include ${pgq_only})
find_library(PGQ_LIBRARY libpg_query.a HINTS ${pgq_roots} PATH_SUFFIXES lib lib/${CMAKE_LIBRARY_ARCHITECTURE} linux . ${pgq_only})
if(PGLOCKLINT_LIBPG_QUERY AND EXISTS ${PGLOCKLINT_LIBPG_QUERY}/protobuf/pg_query.pb-c.h)
  # A source tree has the header in another folder than the installed one is in.
  set(pgq_source_tree ${CMAKE_BINARY_DIR}/generated/libpg_query)
  file(MAKE_DIRECTORY ${pgq_source_tree})
  file(CREATE_LINK ${PGLOCKLINT_LIBPG_QUERY}/protobuf ${pgq_source_tree}/pg_query SYMBOLIC)
  list(APPEND pgq_roots ${pgq_source_tree})
endif()
find_path(PGQ_PROTOBUF pg_query/pg_query.pb-c.h HINTS ${pgq_roots} PATH_SUFFIXES include ${pgq_only})
find_path(PROTOBUF_C_INCLUDE protobuf-c/protobuf-c.h HINTS ${pgq_roots} PATH_SUFFIXES vendor)

foreach(part "PGQ_INCLUDE pg_query.h" "PGQ_PROTOBUF pg_query/pg_query.pb-c.h" "PGQ_LIBRARY libpg_query.a" "PROTOBUF_C_INCLUDE protobuf-c/protobuf-c.h")
  separate_arguments(part)
  list(POP_FRONT part variable)
  if(${variable})
    continue()
  elseif(PGLOCKLINT_LIBPG_QUERY)
    message(FATAL_ERROR "PGLOCKLINT_LIBPG_QUERY=${PGLOCKLINT_LIBPG_QUERY}: no ${part} there. It takes a source tree of libpg_query in which "
                        "`make build` ran, an installed prefix (include/, lib/) or an unpacked Debian package.")
  else()
    message(FATAL_ERROR "libpg_query: no ${part} (Debian: libpg-query-dev, libprotobuf-c-dev). scripts/setup installs it; "
                        "PGLOCKLINT_LIBPG_QUERY names a folder with another one.")
  endif()
endforeach()

add_library(pg_query UNKNOWN IMPORTED)
set_target_properties(pg_query PROPERTIES
  IMPORTED_LOCATION ${PGQ_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES "${PGQ_INCLUDE};${PGQ_PROTOBUF};${PROTOBUF_C_INCLUDE}"
  INTERFACE_LINK_LIBRARIES pthread)
