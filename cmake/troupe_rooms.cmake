# troupe_room(NAME DEPENDS ... [PRECOMPILE <headers>...]): the static library troupe_NAME from all sources of the calling
# folder. PRECOMPILE: heavy headers that most of its sources include; without, those of base are reused (docs/traps.md has
# what they cost). The presets nightly and tidy do without any, tidy because clang cannot read g++'s.
# troupe_test(NAME DEPENDS ... [LABELS ...] [TIMEOUT s] [PROCESSORS n] [PRECOMPILED TARGET]): the test program NAME from all
# *_test.cpp of the calling folder. PRECOMPILED: whose precompiled headers it takes, troupe_test_pch if none is given.

# What nearly every source includes, directly or not.
set(troupe_common_headers <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <filesystem> <functional> <map>
  <memory> <mutex> <optional> <span> <sstream> <string> <string_view> <thread> <utility> <variant> <vector> <fmt/format.h>)

add_library(troupe_options INTERFACE)
target_include_directories(troupe_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_compile_options(troupe_options INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -ffp-contract=off)  # the same bits whatever the compiler fuses (design, section 4)
if(TROUPE_WERROR)
  target_compile_options(troupe_options INTERFACE -Werror)
endif()
if(TROUPE_NATIVE)
  target_compile_options(troupe_options INTERFACE -march=native)
endif()
if(TROUPE_SANITIZE)
  target_compile_options(troupe_options INTERFACE
    -fsanitize=${TROUPE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # reports moved-from variants when it instruments them
  target_link_options(troupe_options INTERFACE -fsanitize=${TROUPE_SANITIZE})
  if(TROUPE_SANITIZE MATCHES "thread")
    # ThreadSanitizer does not know fences; Asio's queues are guarded by mutexes besides.
    target_compile_definitions(troupe_options INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
  if(TROUPE_SANITIZE MATCHES "undefined" AND NOT TROUPE_FUZZ)
    target_compile_options(troupe_options INTERFACE -fno-sanitize=null)  # CAF's headers, docs/traps.md
  endif()
endif()

function(troupe_room NAME)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRECOMPILE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(sources)
    add_library(troupe_${NAME} STATIC ${sources})
    target_link_libraries(troupe_${NAME} PUBLIC troupe_options ${ARG_DEPENDS})
    if(ARG_PRECOMPILE)
      target_precompile_headers(troupe_${NAME} PRIVATE ${ARG_PRECOMPILE})
    else()
      target_precompile_headers(troupe_${NAME} REUSE_FROM troupe_base)
    endif()
  else()
    add_library(troupe_${NAME} INTERFACE)
    target_link_libraries(troupe_${NAME} INTERFACE troupe_options ${ARG_DEPENDS})
  endif()
endfunction()

function(troupe_test NAME)
  cmake_parse_arguments(ARG "" "TIMEOUT;PROCESSORS;PRECOMPILED" "DEPENDS;LABELS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_PROCESSORS)
    set(ARG_PROCESSORS 1)
  endif()
  if(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED troupe_test_pch)
  endif()
  add_executable(${NAME} ${sources})
  target_link_libraries(${NAME} PRIVATE troupe_test_support ${ARG_DEPENDS} GTest::gtest_main)
  target_precompile_headers(${NAME} REUSE_FROM ${ARG_PRECOMPILED})
  gtest_discover_tests(${NAME} TEST_PREFIX "${NAME}:" DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} PROCESSORS ${ARG_PROCESSORS} LABELS "${ARG_LABELS}")
endfunction()
