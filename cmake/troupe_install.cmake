# What `cmake --install` puts in place for programs that train by themselves (docs/embedding.md): a static library with
# all rooms in it, one of CUDA devices or one without them, the headers that <troupe/session.hpp>,
# <troupe/session_device.hpp>, <troupe/store.hpp> and <troupe/model.hpp> need, and a package for find_package(troupe).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(objects_of_library $<TARGET_OBJECTS:troupe_build_id>)
set(rooms_of_library base net graph data generate partition sample feature wire nn job run gpu actors launcher schema)
foreach(room IN LISTS rooms_of_library)
  get_target_property(type troupe_${room} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND objects_of_library $<TARGET_OBJECTS:troupe_${room}>)
  endif()
endforeach()

add_library(troupe_library STATIC ${objects_of_library})
set_target_properties(troupe_library PROPERTIES OUTPUT_NAME troupe EXPORT_NAME troupe LINKER_LANGUAGE CXX)
target_compile_features(troupe_library INTERFACE cxx_std_20)
# Functions in headers are compiled in the user's program as well, and must give the same bits.
target_compile_options(troupe_library INTERFACE -ffp-contract=off)
if(TROUPE_SANITIZE)
  target_link_options(troupe_library INTERFACE -fsanitize=${TROUPE_SANITIZE})
endif()
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/troupe)
target_include_directories(troupe_library INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${headers}>)
target_link_libraries(troupe_library INTERFACE
  $<INSTALL_INTERFACE:troupe::devices> $<INSTALL_INTERFACE:troupe::dependencies>)  # of troupeConfig.cmake
install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" \"-DROOT=${PROJECT_SOURCE_DIR}\" \"-DLIBRARY=$<TARGET_FILE:troupe_library>\"
  \"-DOUT=${PROJECT_BINARY_DIR}/installed_build_id.cpp\" -P \"${PROJECT_SOURCE_DIR}/cmake/check_installed_build.cmake\"
  COMMAND_ERROR_IS_FATAL ANY)")
install(TARGETS troupe_library EXPORT troupe ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

# troupe_library_of_devices(NAME TARGET): what troupe::devices is one of. A program needs no CUDA to link: without the
# component "cuda" it has emulated devices alone.
function(troupe_library_of_devices name target)
  set(library troupe_library_${name})
  add_library(${library} STATIC $<TARGET_OBJECTS:${target}>)
  set_target_properties(${library} PROPERTIES OUTPUT_NAME troupe_${name} EXPORT_NAME ${name} LINKER_LANGUAGE CXX)
  target_link_libraries(${library} INTERFACE $<INSTALL_INTERFACE:troupe::troupe>)  # whose functions it calls
  add_dependencies(troupe_library ${library})  # which stands for all that is installed
  install(TARGETS ${library} EXPORT troupe ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()
troupe_library_of_devices(without_cuda troupe_without_cuda)
if(TROUPE_CUDA_COMPILER_FOUND)
  troupe_library_of_devices(cuda troupe_gpu_cuda)
endif()
foreach(name session_device store model)
  install(FILES ${PROJECT_SOURCE_DIR}/launcher/${name}.hpp DESTINATION ${headers})
endforeach()
# The others include it by its place here.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/installed_headers/session.hpp
  CONTENT "#pragma once\n#include \"launcher/session.hpp\"\n")
install(FILES ${PROJECT_BINARY_DIR}/installed_headers/session.hpp DESTINATION ${headers})
install(FILES ${PROJECT_SOURCE_DIR}/launcher/dist_tensor.hpp ${PROJECT_SOURCE_DIR}/launcher/session.hpp
  DESTINATION ${headers}/launcher)
install(FILES ${PROJECT_SOURCE_DIR}/runtime/run/forward_input.hpp DESTINATION ${headers}/runtime/run)
install(FILES ${PROJECT_SOURCE_DIR}/runtime/data/stream_store.hpp ${PROJECT_SOURCE_DIR}/runtime/data/edge_split.hpp
  DESTINATION ${headers}/runtime/data)
foreach(room base graph partition sample feature nn)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/${room} DESTINATION ${headers}/runtime FILES_MATCHING PATTERN "*.hpp")
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/troupe)
install(EXPORT troupe NAMESPACE troupe:: FILE troupeTargets.cmake DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/troupeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(${PROJECT_SOURCE_DIR}/cmake/troupeConfig.cmake ${PROJECT_BINARY_DIR}/troupeConfig.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/troupeConfig.cmake ${PROJECT_BINARY_DIR}/troupeConfigVersion.cmake
        DESTINATION ${package})
