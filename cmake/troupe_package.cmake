# The Debian package (./bootstrap package): the program stripped, the library and its headers (docs/embedding.md), manual pages
# and bash completion from the program's own tree of options, examples, and what a package of Debian has besides.
find_program(TROUPE_GZIP gzip REQUIRED)

set(pages ${PROJECT_BINARY_DIR}/pages)
set(document ${CMAKE_INSTALL_DATAROOTDIR}/doc/troupe)
# Bytes and times of compressed files depend on their contents only.
add_custom_command(OUTPUT ${pages}/stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages}
  COMMAND $<TARGET_FILE:troupe> write-pages ${pages}
  COMMAND sh -c "${TROUPE_GZIP} -9n ${pages}/*.1"
  COMMAND sh -c "${TROUPE_GZIP} -9nc ${PROJECT_SOURCE_DIR}/cmake/package/changelog > ${pages}/changelog.gz"
  COMMAND ${CMAKE_COMMAND} -E touch ${pages}/stamp
  DEPENDS troupe ${PROJECT_SOURCE_DIR}/cmake/package/changelog VERBATIM)
add_custom_target(troupe_pages ALL DEPENDS ${pages}/stamp)

install(DIRECTORY ${pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1.gz")
install(FILES ${pages}/troupe.bash DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions RENAME troupe)
install(FILES ${pages}/changelog.gz ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${document})
install(FILES ${PROJECT_SOURCE_DIR}/cmake/package/copyright DESTINATION ${document})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${document})

set(CPACK_PACKAGE_NAME troupe)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Troupe authors <troupe@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "distributed training of graph neural networks")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Troupe trains graph neural networks on partitioned graphs with a troupe of
actors, on one host or many, described by one JSON job file. Batches do not
depend on partitions, hosts, threads or the order of messages. The package has
the program, and a static library with headers for C++ trainers.")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libucx0, openssh-client, rsync")  # used where they are there
# For programs that link the library; packages.txt [build].
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
  "g++, cmake, libcaf-dev, libcapnp-dev, libdnnl-dev, libfmt-dev, libxxhash-dev, zlib1g-dev, libzstd-dev, libyaml-cpp-dev, libssl-dev, libucx-dev, libmetis-dev")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)
