# troupe_room(NAME [OPTIMIZE n] [SINGLE] DEPENDS ... [PRECOMPILE <headers>... | PRECOMPILED TARGET] [SOURCES ...]): static
# library troupe_NAME from all sources of the calling folder. OPTIMIZE: optimization level, default 1; 2 and 3 are for rooms
# that batches, rows and products pass through. TROUPE_OPTIMIZE caps the levels; below 3 those of level 2 have 1, which takes
# two thirds of the time to compile. SINGLE: sources are compiled one by one, for
# a room where g++ inlines too little in a large unit. PRECOMPILE: heavy headers that most of its sources include;
# PRECOMPILED: target whose precompiled headers it takes, default troupe_base (docs/traps.md has their cost). SOURCES:
# instead of the folder's.
#
# troupe_test(NAME DEPENDS ... [OPTIMIZED] [LABELS ...] [TIMEOUT s] [PRECOMPILED TARGET] [GROUPS FILTER ...]): test
# program NAME from all *_test.cpp of the calling folder. OPTIMIZED: for tests that compile what they compute with, kernels of
# devices for instance. TIMEOUT: of each test. PRECOMPILED: target whose precompiled headers it takes, default
# troupe_test_pch. GROUPS: GoogleTest filters; the tests of each are a ctest entry of their own, which may run at the same
# time as others, and the rest is one more.
#
# Rooms and test programs are unity builds (TROUPE_UNITY): several sources per compiler run, because most of the cost of a
# source is its headers. Names in anonymous namespaces are therefore unique in a room. The presets nightly and tidy build
# without unity and precompiled headers, so that a missing include shows (and clang-tidy cannot read those of g++).

# What nearly every source includes, directly or not.
set(troupe_common_headers <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <filesystem> <functional> <map>
  <memory> <mutex> <optional> <span> <sstream> <string> <string_view> <thread> <utility> <variant> <vector> <fmt/format.h>)

add_library(troupe_options INTERFACE)
target_include_directories(troupe_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_compile_options(troupe_options INTERFACE
  -ffp-contract=off  # the same bits whatever the compiler fuses (design, section 4)
  -fno-math-errno)   # roots in vectors, with the same bits; nobody reads errno after one
if(TROUPE_WARNINGS)
  target_compile_options(troupe_options INTERFACE
    -Wall -Wextra -Wconversion -Wsign-conversion -Wnon-virtual-dtor $<$<BOOL:${TROUPE_WERROR}>:-Werror>)
else()
  # From -O3 on g++ 12 warns of code in fmt and in the standard library that is correct.
  target_compile_options(troupe_options INTERFACE -w)
endif()
if(NOT TROUPE_UNITY)
  target_compile_options(troupe_options INTERFACE $<$<BOOL:${TROUPE_WARNINGS}>:-Wshadow>)
else()
  # A local name may be that of a function in another source of the unit. Members whose types are in anonymous namespaces
  # are told apart from headers only in the file that is compiled itself.
  target_compile_options(troupe_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:$<$<BOOL:${TROUPE_WARNINGS}>:-Wshadow=local> -Wno-subobject-linkage>)
endif()
# The compiler collects its garbage from 1 GiB on, not from 128 MiB: an eighth less time.
target_compile_options(troupe_options INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>)
find_program(TROUPE_CCACHE_PROGRAM ccache)
if(TROUPE_CCACHE AND TROUPE_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What it needs to be told for precompiled headers, and that objects of another checkout are the same ones.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${TROUPE_CCACHE_PROGRAM})
  target_compile_options(troupe_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()
if(TROUPE_PROCESSOR)
  # A target's property of this name goes before: of two options the later one counts, and the target's own come first.
  set(processor $<TARGET_PROPERTY:TROUPE_PROCESSOR>)
  target_compile_options(troupe_options INTERFACE -march=$<IF:$<BOOL:${processor}>,${processor},${TROUPE_PROCESSOR}>)
  if(TROUPE_PROCESSOR STREQUAL "x86-64-v3")
    target_compile_definitions(troupe_options INTERFACE TROUPE_AVX512_CLONES)  # runtime/base/hot.hpp
  endif()
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

# Sources per compiler run, at most: more cost less in all, but one run takes longer and more memory.
set(troupe_sources_per_unit 28)

# The target's units have about the same number of sources, so that none is left to one core at the end.
function(troupe_unity TARGET)
  get_target_property(sources ${TARGET} SOURCES)
  list(LENGTH sources count)
  math(EXPR units "(${count} + ${troupe_sources_per_unit} - 1) / ${troupe_sources_per_unit}")
  math(EXPR size "(${count} + ${units} - 1) / ${units}")
  set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ${TROUPE_UNITY} UNITY_BUILD_BATCH_SIZE ${size})
endfunction()

# troupe_optimize(TARGET [level])
function(troupe_optimize TARGET)
  set(level 1 ${ARGN})
  list(GET level -1 level)
  if(level EQUAL 2 AND TROUPE_OPTIMIZE LESS 3)
    set(level 1)
  elseif(level GREATER TROUPE_OPTIMIZE)
    set(level ${TROUPE_OPTIMIZE})
  endif()
  target_compile_options(${TARGET} PRIVATE -O${level})
  if(level EQUAL 2)
    # Loops over rows in vectors, as at -O3: most of what tests of whole runs compute with.
    target_compile_options(${TARGET} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fvect-cost-model=dynamic>)
  endif()
endfunction()

# Compiles code that is not optimized in two thirds of g++'s time.
set(TROUPE_TEST_COMPILER "" CACHE STRING "Clang for code of tests that is not optimized, e.g. clang++-14; empty: the compiler of all")
unset(TROUPE_TEST_COMPILER_PROGRAM CACHE)  # of another setting
if(TROUPE_TEST_COMPILER)
  find_program(TROUPE_TEST_COMPILER_PROGRAM ${TROUPE_TEST_COMPILER})
  if(NOT TROUPE_TEST_COMPILER_PROGRAM)
    message(STATUS "Found no ${TROUPE_TEST_COMPILER}: tests are compiled by ${CMAKE_CXX_COMPILER}")
  endif()
endif()

# troupe_optimize_tests(TARGET): of code of tests, which the presets for tests do not optimize (docs/CONTRIBUTING.md).
function(troupe_optimize_tests TARGET)
  if(TROUPE_OPTIMIZE LESS 3)
    troupe_optimize(${TARGET} 0)
    if(TROUPE_TEST_COMPILER_PROGRAM)
      set_target_properties(${TARGET} PROPERTIES CXX_COMPILER_LAUNCHER
        "${PROJECT_SOURCE_DIR}/cmake/test_compiler.sh;${TROUPE_TEST_COMPILER_PROGRAM};${CMAKE_CXX_COMPILER};${CMAKE_CXX_COMPILER_LAUNCHER}")
    endif()
  else()
    troupe_optimize(${TARGET})
  endif()
endfunction()

function(troupe_room NAME)
  cmake_parse_arguments(ARG "SINGLE" "OPTIMIZE;PRECOMPILED" "DEPENDS;PRECOMPILE;SOURCES" ${ARGN})
  if(ARG_SOURCES)
    set(sources ${ARG_SOURCES})
  else()
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  endif()
  if(sources)
    add_library(troupe_${NAME} STATIC ${sources})
    if(NOT ARG_SINGLE)
      troupe_unity(troupe_${NAME})
    endif()
    troupe_optimize(troupe_${NAME} ${ARG_OPTIMIZE})
    target_link_libraries(troupe_${NAME} PUBLIC troupe_options ${ARG_DEPENDS})
    if(ARG_PRECOMPILE)
      target_precompile_headers(troupe_${NAME} PRIVATE ${ARG_PRECOMPILE})
    else()
      if(NOT ARG_PRECOMPILED)
        set(ARG_PRECOMPILED troupe_base)
      endif()
      target_precompile_headers(troupe_${NAME} REUSE_FROM ${ARG_PRECOMPILED})
    endif()
  else()
    add_library(troupe_${NAME} INTERFACE)
    target_link_libraries(troupe_${NAME} INTERFACE troupe_options ${ARG_DEPENDS})
  endif()
endfunction()

# Where tests make their files. Stores flush each of theirs, which takes milliseconds on a disk and nothing in memory. Not for
# entries with the label slow, whose files are large, nor SCRATCH_ON_DISK, which look at /dev/shm itself.
set(scratch "")
if(EXISTS /dev/shm)
  file(STRINGS /proc/mounts shared_memory REGEX "^[^ ]+ /dev/shm tmpfs ")
  execute_process(COMMAND df --output=avail -k /dev/shm OUTPUT_VARIABLE free ERROR_QUIET)
  string(REGEX MATCH "[0-9]+" free "${free}")
  if(shared_memory AND NOT shared_memory MATCHES "noexec" AND free GREATER 4194304)
    set(scratch /dev/shm)
  endif()
endif()
set(TROUPE_TEST_SCRATCH "${scratch}" CACHE PATH "Folder of the tests' files; empty: the system's for temporary ones")

# Ctest entry of a test program: the tests that the GoogleTest filter selects, in one process. It takes three of a preset's
# jobs; an entry that waits for most of its time takes one (PROCESSORS 1). Counts of its tests and the reasons of skipped ones
# go to test-records/ENTRY.txt, which ./bootstrap sums up.
function(troupe_test_entry ENTRY PROGRAM FILTER)
  cmake_parse_arguments(ARG "SCRATCH_ON_DISK" "TIMEOUT" "LABELS;ENVIRONMENT" ${ARGN})
  string(REGEX REPLACE "[^A-Za-z0-9_]" "-" file ${ENTRY})
  if(TROUPE_TEST_SCRATCH AND NOT ARG_SCRATCH_ON_DISK AND NOT "slow" IN_LIST ARG_LABELS)
    list(APPEND ARG_ENVIRONMENT "TMPDIR=${TROUPE_TEST_SCRATCH}")
  endif()
  add_test(NAME ${ENTRY} COMMAND ${PROGRAM} --gtest_filter=${FILTER})
  set_tests_properties(${ENTRY} PROPERTIES TIMEOUT 3600 PROCESSORS 3 LABELS "${ARG_LABELS}"
    ENVIRONMENT "TROUPE_TEST_RECORD=${PROJECT_BINARY_DIR}/test-records/${file}.txt;TROUPE_TEST_SECONDS=${ARG_TIMEOUT};${ARG_ENVIRONMENT}")
endfunction()

# troupe_test(NAME ...): program of the folder's *_test.cpp and its ctest entries: GROUPS are filters with one each.
# CAF_THREADS is the filter of tests on CAF's own threads: ThreadSanitizer cannot see its locks (docs/traps.md).
function(troupe_test NAME)
  cmake_parse_arguments(ARG "SCRATCH_ON_DISK;OPTIMIZED" "TIMEOUT;PRECOMPILED;CAF_THREADS" "DEPENDS;LABELS;GROUPS"
    ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(ARG_OPTIMIZED)
    set(ARG_PRECOMPILED troupe_optimized_test_pch)
  elseif(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED troupe_test_pch)
  endif()
  add_executable(${NAME} ${sources})
  troupe_unity(${NAME})
  if(ARG_OPTIMIZED)
    troupe_optimize(${NAME})
  else()
    troupe_optimize_tests(${NAME})
  endif()
  if(CMAKE_POSITION_INDEPENDENT_CODE)
    # As libraries are compiled (-fPIC), not as programs (-fPIE): else the precompiled headers do not fit.
    set_target_properties(${NAME} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${NAME} PRIVATE -fPIC)
  endif()
  target_link_libraries(${NAME} PRIVATE troupe_test_main troupe_test_support ${ARG_DEPENDS})
  target_precompile_headers(${NAME} REUSE_FROM ${ARG_PRECOMPILED})
  set(properties TIMEOUT ${ARG_TIMEOUT} LABELS ${ARG_LABELS})
  if(ARG_SCRATCH_ON_DISK)
    list(PREPEND properties SCRATCH_ON_DISK)
  endif()
  set(grouped "")
  foreach(group IN LISTS ARG_GROUPS)
    string(REGEX REPLACE ":.*|[*]" "" first ${group})
    troupe_test_entry(${NAME}:${first} ${NAME} "${group}" ${properties})
    string(APPEND grouped ":${group}")
  endforeach()
  if(ARG_CAF_THREADS)
    troupe_test_entry(${NAME}:caf_threads ${NAME} "${ARG_CAF_THREADS}" ${properties} caf_threads)
    string(APPEND grouped ":${ARG_CAF_THREADS}")
  endif()
  string(REGEX REPLACE "^:" "" grouped "${grouped}")
  if(grouped)
    troupe_test_entry(${NAME}:others ${NAME} "*-${grouped}" ${properties})
  else()
    troupe_test_entry(${NAME} ${NAME} "*" ${properties})
  endif()
endfunction()
