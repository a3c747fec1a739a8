# cmake -DROOT=<repository> -DBUILD=<build folder> -DCXX=<compiler> -P check_headers.cmake: fails if a header does not
# compile alone. Quick when nothing changed since it last passed: BUILD/headers.passed keeps the list and the time.
cmake_minimum_required(VERSION 3.25)

file(GLOB_RECURSE headers ${ROOT}/runtime/*.hpp ${ROOT}/gpu/*.hpp ${ROOT}/actors/*.hpp ${ROOT}/launcher/*.hpp
  ${ROOT}/tests/*.hpp)
if(NOT headers)
  message(FATAL_ERROR "expected headers under ${ROOT}, found none")
endif()
list(LENGTH headers count)
list(JOIN headers "\n" names)

set(stamp ${BUILD}/headers.passed)
if(EXISTS ${stamp})
  file(READ ${stamp} passed)
  set(changed ${headers} ${CMAKE_CURRENT_LIST_FILE})
  set(newer FALSE)
  foreach(file IN LISTS changed)
    if(${file} IS_NEWER_THAN ${stamp})
      set(newer TRUE)
    endif()
  endforeach()
  if(passed STREQUAL names AND NOT newer)
    message(STATUS "headers: ${count}, unchanged since they last passed")
    return()
  endif()
endif()

file(WRITE ${BUILD}/headers.list "${names}\n")
execute_process(
  COMMAND xargs -a ${BUILD}/headers.list -P 2 -I{}
    ${CXX} -std=c++20 -fsyntax-only -I${ROOT} -I${BUILD} -x c++ -include {} /dev/null
  RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "a header does not compile alone; see above")
endif()
file(WRITE ${stamp} "${names}")
message(STATUS "headers: ${count} compile alone")
