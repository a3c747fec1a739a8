# cmake -DROOT=<repository> -DBUILD=<build folder> -DCXX=<compiler> -P check_headers.cmake: fails if a header does not
# compile alone. A product header that its own .cpp includes first is shown by that file's compilation and is left out.
# BUILD/headers/ keeps what each header that passed was made of; it is compiled again only when one of those files has
# changed.
cmake_minimum_required(VERSION 3.25)

file(GLOB_RECURSE headers ${ROOT}/runtime/*.hpp ${ROOT}/gpu/*.hpp ${ROOT}/actors/*.hpp ${ROOT}/launcher/*.hpp
  ${ROOT}/tests/*.hpp ${ROOT}/fuzz/*.hpp)
if(NOT headers)
  message(FATAL_ERROR "expected headers under ${ROOT}, found none")
endif()

# Whether all files that `record`, a make rule, names are there and older than it.
function(is_current record result_var)
  set(${result_var} FALSE PARENT_SCOPE)
  if(NOT EXISTS ${record})
    return()
  endif()
  file(READ ${record} rule)
  string(REGEX REPLACE "^[^:]*:|\\\\\n" " " rule "${rule}")
  separate_arguments(files UNIX_COMMAND "${rule}")
  foreach(file IN LISTS files CMAKE_CURRENT_LIST_FILE)
    if(NOT EXISTS ${file} OR ${file} IS_NEWER_THAN ${record})
      return()
    endif()
  endforeach()
  set(${result_var} TRUE PARENT_SCOPE)
endfunction()

# Whether the .cpp beside `header`, called `name` in includes, includes it before anything else. Not for tests/: they are
# compiled with a precompiled header, which hides what is missing.
function(is_first_in_its_source header name result_var)
  set(${result_var} FALSE PARENT_SCOPE)
  string(REGEX REPLACE "\\.hpp$" ".cpp" source ${header})
  if(name MATCHES "^tests/" OR NOT EXISTS ${source})
    return()
  endif()
  file(STRINGS ${source} includes REGEX "^[ \t]*#[ \t]*include" LIMIT_COUNT 1)
  if(includes STREQUAL "#include \"${name}\"")
    set(${result_var} TRUE PARENT_SCOPE)
  endif()
endfunction()

set(work "")
set(changed 0)
set(shown 0)
foreach(header IN LISTS headers)
  file(RELATIVE_PATH name ${ROOT} ${header})
  is_first_in_its_source(${header} ${name} first)
  if(first)
    math(EXPR shown "${shown} + 1")
    continue()
  endif()
  string(REPLACE "/" "." name ${name})
  is_current(${BUILD}/headers/${name}.d current)
  if(NOT current)
    string(APPEND work "${header}\n${BUILD}/headers/${name}.d\n")
    math(EXPR changed "${changed} + 1")
  endif()
endforeach()

if(changed GREATER 0)
  file(WRITE ${BUILD}/headers/list "${work}")
  set(compile "\"$0\" -std=c++20 -fsyntax-only -I'${ROOT}' -I'${BUILD}' -DTROUPE_SOURCE_DIR='\"\"' -MMD -MF \"$2.new\" \
    -x c++ -include \"$1\" /dev/null && mv \"$2.new\" \"$2\"")
  execute_process(COMMAND xargs -a ${BUILD}/headers/list -P 2 -n 2 sh -c "${compile}" ${CXX} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "a header does not compile alone; see above")
  endif()
endif()
list(LENGTH headers count)
message(STATUS "headers: ${count} compile alone, ${changed} of them checked now, ${shown} by their sources")
