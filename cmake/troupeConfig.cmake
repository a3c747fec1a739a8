# find_package(troupe REQUIRED), then target_link_libraries(my_trainer PRIVATE troupe::troupe). See docs/embedding.md.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(fmt)
find_dependency(OpenSSL)
find_dependency(OpenMP COMPONENTS CXX)

# Libraries without a package file of their own, or whose file asks for more than a C++ program needs.
set(troupe_libraries "")
foreach(name caf_core capnp kj dnnl xxhash z zstd)
  find_library(TROUPE_${name}_LIBRARY ${name})
  mark_as_advanced(TROUPE_${name}_LIBRARY)
  if(NOT TROUPE_${name}_LIBRARY)
    set(troupe_FOUND FALSE)
    set(troupe_NOT_FOUND_MESSAGE "expected the library ${name}, found none; try: the packages in troupe's packages.txt")
    return()
  endif()
  list(APPEND troupe_libraries ${TROUPE_${name}_LIBRARY})
endforeach()

if(NOT TARGET troupe::dependencies)
  add_library(troupe::dependencies INTERFACE IMPORTED)
  target_link_libraries(troupe::dependencies INTERFACE
    ${troupe_libraries} fmt::fmt OpenSSL::SSL OpenSSL::Crypto OpenMP::OpenMP_CXX Threads::Threads)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/troupeTargets.cmake)
