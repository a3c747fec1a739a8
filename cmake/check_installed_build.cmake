# cmake -DROOT=… -DLIBRARY=FILE -DOUT=FILE -P check_installed_build.cmake: fails where a library is not made from the sources
# that are there, whose headers are installed beside it: programs that include newer headers than the library's crash.
execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${ROOT} -DOUT=${OUT} -P ${CMAKE_CURRENT_LIST_DIR}/build_id.cmake
                COMMAND_ERROR_IS_FATAL ANY)
file(READ ${OUT} text)
string(REGEX MATCH "\"([0-9a-f]+)\"" id "${text}")
set(id ${CMAKE_MATCH_1})
set(found "")
if(EXISTS ${LIBRARY})
  file(STRINGS ${LIBRARY} found REGEX "${id}" LIMIT_COUNT 1)
endif()
if(NOT found)
  message(FATAL_ERROR "${LIBRARY}: expected the library of these sources (build ${id}), found another one or none; try: "
                      "cmake --build, without a target, before cmake --install")
endif()
