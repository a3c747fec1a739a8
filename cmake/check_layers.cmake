# cmake -DROOT=<repository> -P check_layers.cmake: fails on an #include that points upwards (design, section 2), on CAF
# outside actors/ and launcher/, on CUDA outside gpu/, on Python outside python/, on what python/ includes of the rooms without
# a public face, on includes that do not start at the root, and on __builtin_prefetch outside runtime/base/prefetch.hpp.
cmake_minimum_required(VERSION 3.25)

set(rooms schema runtime/base runtime/net runtime/graph runtime/data runtime/generate runtime/partition runtime/sample runtime/feature
    runtime/wire runtime/nn runtime/job runtime/run gpu actors launcher python)  # each may use those before it
set(problems 0)

macro(problem text)
  message(SEND_ERROR "${file}: ${text}")
  math(EXPR problems "${problems} + 1")
endmacro()

# The room of a path from the root, and its place in the order (-1: none).
function(room_of path room_var rank_var)
  set(room "")
  if(path MATCHES "^(runtime/[^/]+|[^/]+)/")
    set(room ${CMAKE_MATCH_1})
  endif()
  list(FIND rooms "${room}" rank)
  set(${room_var} "${room}" PARENT_SCOPE)
  set(${rank_var} ${rank} PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE files RELATIVE ${ROOT}
  ${ROOT}/runtime/*.[ch]pp ${ROOT}/gpu/*.[ch]pp ${ROOT}/gpu/*.cu ${ROOT}/gpu/*.cuh ${ROOT}/actors/*.[ch]pp
  ${ROOT}/launcher/*.[ch]pp ${ROOT}/python/*.[ch]pp)
if(NOT files)
  message(FATAL_ERROR "expected sources under ${ROOT}, found none")
endif()

foreach(file IN LISTS files)
  room_of(${file} room rank)
  if(rank EQUAL -1)
    problem("expected a room of the design, found \"${room}\"")
  endif()
  file(STRINGS ${ROOT}/${file} lines REGEX "^[ \t]*#[ \t]*include|__builtin_prefetch")
  foreach(line IN LISTS lines)
    if(line MATCHES "__builtin_prefetch" AND NOT file STREQUAL "runtime/base/prefetch.hpp")
      problem("__builtin_prefetch in a function of its own is left out: use runtime/base/prefetch.hpp")
    endif()
    if(NOT line MATCHES "include[ \t]*[<\"]([^>\"]+)[>\"]")
      continue()
    endif()
    set(target ${CMAKE_MATCH_1})
    if(target MATCHES "^caf/" AND NOT room MATCHES "^(actors|launcher)$")
      problem("<${target}> is for actors/ and launcher/")
    elseif(target MATCHES "^(cuda|cublas|cub/|thrust/|nccl)" AND NOT room STREQUAL "gpu")
      problem("<${target}> is for gpu/")
    elseif(target MATCHES "^(pybind11/|Python[.]h$)" AND NOT room STREQUAL "python")
      problem("<${target}> is for python/")
    elseif(line MATCHES "\"")
      room_of(${target} target_room target_rank)
      if(target_rank EQUAL -1)
        problem("\"${target}\" does not start at a room of the design")
      elseif(room STREQUAL "python" AND target MATCHES "^(actors|gpu)/|^launcher/" AND
             NOT target MATCHES "^launcher/(session|session_device|store)[.]hpp$")
        problem("\"${target}\" is not installed: python/ stands on what programs of users have")
      elseif(target_rank GREATER rank)
        problem("\"${target}\" points upwards, from ${room} to ${target_room}")
      endif()
    endif()
  endforeach()
endforeach()

list(LENGTH files count)
message(STATUS "layers: ${count} files, ${problems} problems")
