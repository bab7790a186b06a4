# The C++ front end: clang 19 from Debian's llvm-19-dev and libclang-19-dev. One extractor, two shells: pglocklint-clang, with clang as
# shared libraries, and the plugin, which takes clang's classes from the compiler that loads it.
find_package(Clang 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/clang)
add_library(clang_headers INTERFACE)
target_include_directories(clang_headers SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${CLANG_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(clang_headers INTERFACE ${llvm_definitions})

file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/clang-plugin/*.cpp)
list(FILTER sources EXCLUDE REGEX "/(main|stubs|plugin)\\.cpp$")
add_library(extractor OBJECT ${sources})
set_target_properties(extractor pglocklint_model PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_link_libraries(extractor PUBLIC pglocklint_model clang_headers)

add_executable(pglocklint-clang clang-plugin/main.cpp clang-plugin/stubs.cpp)
target_link_libraries(pglocklint-clang PRIVATE extractor pglocklint_model clang-cpp LLVM)
add_dependencies(pglocklint pglocklint-clang)

add_library(pglocklint-clang-plugin MODULE clang-plugin/plugin.cpp)
target_link_libraries(pglocklint-clang-plugin PRIVATE extractor pglocklint_model ${CMAKE_DL_LIBS})
set_target_properties(pglocklint-clang-plugin PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
                      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
# Symbols are looked up when they are used: the check of the compiler's version comes first. What is ours stays ours.
target_link_options(pglocklint-clang-plugin PRIVATE -Wl,-z,lazy -Wl,--exclude-libs,ALL)
