# What `cmake --install` puts where. Components: runtime (library, plugins, command, manual pages, completion) and sdk (headers, examples as sources, CMake
# package, pkg-config file).
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Consort)

install(TARGETS consort consort_plugin EXPORT ConsortTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT sdk)
if(TARGET consort_tool)
  install(TARGETS consort_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
endif()
if(TARGET consort_man)
  get_target_property(pages consort_man PAGES)
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
endif()
if(TARGET consort_completion) # where the shells of a distribution look
  set(completion ${PROJECT_BINARY_DIR}/completion)
  install(FILES ${completion}/consort DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT runtime)
  install(FILES ${completion}/_consort DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT runtime)
  install(FILES ${completion}/consort.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT runtime)
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/sdk/include/consort DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sdk)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/consort/examples COMPONENT sdk)
install(EXPORT ConsortTargets NAMESPACE Consort:: DESTINATION ${package_dir} COMPONENT sdk)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ConsortConfig.cmake.in ${PROJECT_BINARY_DIR}/ConsortConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ConsortConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ConsortConfig.cmake ${PROJECT_BINARY_DIR}/ConsortConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/ConsortPlugin.cmake ${CMAKE_CURRENT_LIST_DIR}/CheckPlugin.cmake
  ${CMAKE_CURRENT_LIST_DIR}/plugin.map
  DESTINATION ${package_dir} COMPONENT sdk)

# The pkg-config file finds its prefix from its own place, so that an installed tree may be moved.
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR absolute)
if(absolute)
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_LIBDIR})
else()
  file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  set(pc_prefix "\${pcfiledir}/${up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/consort.pc.in ${PROJECT_BINARY_DIR}/consort.pc @ONLY)
# Where the system's loader looks by itself, no run path goes into programs.
file(READ ${PROJECT_BINARY_DIR}/consort.pc text)
string(REPLACE "-Wl,-rpath,\${libdir} " "" text "${text}")
file(WRITE ${PROJECT_BINARY_DIR}/system/consort.pc "${text}")
install(CODE "
  cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX NORMALIZE OUTPUT_VARIABLE where)
  set(pc [[${PROJECT_BINARY_DIR}/consort.pc]])
  if(\"\${where}/${CMAKE_INSTALL_LIBDIR}\" MATCHES \"^/+(usr/+)?lib\" OR [[${CMAKE_INSTALL_LIBDIR}]] MATCHES \"^/(usr/)?lib\")
    set(pc [[${PROJECT_BINARY_DIR}/system/consort.pc]])
  endif()
  if(IS_ABSOLUTE [[${CMAKE_INSTALL_LIBDIR}]])
    file(INSTALL DESTINATION [[${CMAKE_INSTALL_LIBDIR}/pkgconfig]] TYPE FILE FILES \${pc})
  else()
    file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig\" TYPE FILE FILES \${pc})
  endif()" COMPONENT sdk)
