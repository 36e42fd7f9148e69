# `find_package(taut)` from another project. The wheel of the Python package takes the component `python` only.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME cxx)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS taut EXPORT taut-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS taut_mesh_reader RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/taut)
install(DIRECTORY include/taut DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT taut-targets NAMESPACE taut:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/taut)
configure_package_config_file(cmake/taut-config.cmake.in taut-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/taut)
write_basic_package_version_file(taut-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/taut-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/taut-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/taut)
