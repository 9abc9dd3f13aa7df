# Before cpack packs: Debian wants no debugging symbols in static libraries
# either, no time in what is packed, and plain modes.
file(GLOB_RECURSE archives "${CPACK_TEMPORARY_DIRECTORY}/*.a")
foreach(archive ${archives})
  execute_process(COMMAND strip --strip-debug --enable-deterministic-archives
    --remove-section=.comment ${archive} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND chmod -R u=rwX,go=rX "${CPACK_TEMPORARY_DIRECTORY}"
  COMMAND_ERROR_IS_FATAL ANY)
