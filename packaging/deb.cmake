# Three Debian packages, from the tree as it is built: `cpack` puts them into
# packages/. Where the programs lie is found relative to psupd, so a build for
# /usr/local can be packed for /usr.
set(deb ${CMAKE_CURRENT_SOURCE_DIR}/debian)
set(CPACK_GENERATOR DEB)
set(CPACK_OUTPUT_FILE_PREFIX ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_NAME psup)
set(CPACK_PACKAGE_VENDOR "The psup developers")
# Who publishes the packages says who he is.
set(PSUP_MAINTAINER "The psup developers <psup@example.org>"
  CACHE STRING "maintainer in the Debian packages")
set(CPACK_PACKAGE_CONTACT "${PSUP_MAINTAINER}")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime library devel)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/tidy.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME psup)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION admin)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
"For agent gateways, CI drivers and operators: commands live in a small tree
of processes around shared memory, so that neither a restart of the gateway
nor the death of a worker loses a command, a byte of output or an exit
status. With psup, psup-top, psup-mcp for MCP clients, and the server, psupd.")
# It makes the boxes of host sandbox; without it that host is refused.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS bubblewrap)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA
  ${deb}/postinst ${deb}/prerm ${deb}/postrm)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libpsup0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
"The C client, shared library: requests to a psup server, its notifications, and
a read-only view of its shared memory.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${deb}/triggers)

set(CPACK_DEBIAN_DEVEL_PACKAGE_NAME libpsup-dev)
set(CPACK_DEBIAN_DEVEL_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVEL_PACKAGE_DEPENDS "libpsup0 (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DEVEL_DESCRIPTION
"The C client: headers, static library and manual page, to build programs with
libpsup.")

# Each package has its copyright and change log, and says why lintian is wrong.
configure_file(${deb}/changelog.in changelog @ONLY)
set(changelog ${CMAKE_CURRENT_BINARY_DIR}/changelog)
add_custom_command(OUTPUT ${changelog}.gz
  COMMAND ${GZIP} -9nkf ${changelog} DEPENDS ${changelog} VERBATIM)
add_custom_target(psup_changelog ALL DEPENDS ${changelog}.gz)
foreach(pair runtime:psup library:libpsup0 devel:libpsup-dev)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 component)
  list(GET pair 1 package)
  install(FILES ${deb}/copyright ${changelog}.gz
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package}
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  if(EXISTS ${deb}/${package}.lintian-overrides)
    install(FILES ${deb}/${package}.lintian-overrides RENAME ${package}
      DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/lintian/overrides
      COMPONENT ${component} EXCLUDE_FROM_ALL)
  endif()
endforeach()

include(CPack)
