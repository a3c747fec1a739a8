# cmake -DROOT=<repository> -DBUILD=<folder for the file list> -P check_format.cmake: fails if clang-format would change a
# source file.
cmake_minimum_required(VERSION 3.25)

find_program(clang_format NAMES clang-format-14 clang-format)
if(NOT clang_format)
  message(FATAL_ERROR "expected clang-format; try: apt-get install clang-format")
endif()
file(GLOB_RECURSE files ${ROOT}/runtime/*.[ch]pp ${ROOT}/gpu/*.[ch]pp ${ROOT}/gpu/*.cu ${ROOT}/gpu/*.cuh
  ${ROOT}/actors/*.[ch]pp ${ROOT}/launcher/*.[ch]pp ${ROOT}/python/*.[ch]pp ${ROOT}/tests/*.[ch]pp ${ROOT}/fuzz/*.[ch]pp ${ROOT}/bench/*.[ch]pp
  ${ROOT}/examples/*.[ch]pp)
if(NOT files)
  message(FATAL_ERROR "expected sources under ${ROOT}, found none")
endif()
list(LENGTH files count)
list(JOIN files "\n" names)
file(WRITE ${BUILD}/format.list "${names}\n")
execute_process(COMMAND xargs -a ${BUILD}/format.list -P 2 -n 16 ${clang_format} --style=file --dry-run -Werror
  RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "not formatted; try: clang-format -i FILE")
endif()
message(STATUS "format: ${count} files")
