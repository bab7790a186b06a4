# pglocklint-clang: clang 19 from Debian's llvm-19-dev and libclang-19-dev, as shared libraries.
find_package(Clang 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/clang)
add_library(clang_libraries INTERFACE)
target_include_directories(clang_libraries SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${CLANG_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(clang_libraries INTERFACE ${llvm_definitions})
target_link_libraries(clang_libraries INTERFACE clang-cpp LLVM)

file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/clang-plugin/*.cpp)
add_executable(pglocklint-clang ${sources})
target_link_libraries(pglocklint-clang PRIVATE pglocklint_model clang_libraries)
add_dependencies(pglocklint pglocklint-clang)
