# Installation: library, header, CMake package, pkg-config file, JSON descriptions.
include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dl4)

install(TARGETS dl4 EXPORT dl4-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime # a DLL
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)    # and its import library
if(DL4_STATIC)
  install(TARGETS dl4_static EXPORT dl4-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
endif()
install(FILES include/dl4/dl4.h include/dl4/dl4.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dl4 COMPONENT dev)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(DIRECTORY capi/guide/pages/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/guide COMPONENT dev FILES_MATCHING PATTERN *.md
        PATTERN *.svg)

install(EXPORT dl4-targets NAMESPACE dl4:: DESTINATION ${config_dir} COMPONENT dev)
if(PROJECT_IS_TOP_LEVEL)
  export(EXPORT dl4-targets NAMESPACE dl4:: FILE ${CMAKE_CURRENT_BINARY_DIR}/dl4-targets.cmake)
endif()
configure_package_config_file(cmake/dl4-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/dl4-config.cmake
                              INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/dl4-config-version.cmake
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/dl4-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/dl4-config-version.cmake
        DESTINATION ${config_dir} COMPONENT dev)

# The prefix is found from the place of the file itself, so the tree can be moved.
file(RELATIVE_PATH DL4_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" DL4_PC_PREFIX "${DL4_PC_PREFIX}")
list(TRANSFORM DL4_STATIC_NEEDS PREPEND -l OUTPUT_VARIABLE DL4_PC_PRIVATE)
list(JOIN DL4_PC_PRIVATE " " DL4_PC_PRIVATE)
configure_file(cmake/dl4.pc.in ${CMAKE_CURRENT_BINARY_DIR}/dl4.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/dl4.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

# The registry and the description of the interface as files: written by a program that asks the library itself.
if(capi_sources AND NOT CMAKE_CROSSCOMPILING)
  add_executable(dl4_write_registry cmake/write_registry.c)
  add_dependencies(dl4_write_registry dl4) # not linked as a target: what links that may wait for the header
  target_include_directories(dl4_write_registry PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include)
  target_link_libraries(dl4_write_registry PRIVATE $<TARGET_LINKER_FILE:dl4>)
  set_target_properties(dl4_write_registry PROPERTIES BUILD_RPATH $<TARGET_FILE_DIR:dl4>)
  set(described ${CMAKE_CURRENT_BINARY_DIR}/registry.json ${CMAKE_CURRENT_BINARY_DIR}/dl4-api.json)
  add_custom_command(OUTPUT ${described} COMMAND dl4_write_registry ${described} DEPENDS dl4 dl4_write_registry)
  add_custom_target(dl4_registry ALL DEPENDS ${described})
  install(FILES ${described} DESTINATION ${CMAKE_INSTALL_DATADIR}/dl4 COMPONENT dev)
  set(layers_header ${CMAKE_CURRENT_BINARY_DIR}/include/dl4/layers.hpp)
  add_custom_command(OUTPUT ${layers_header}
                     COMMAND ${CMAKE_COMMAND} -DREGISTRY=${CMAKE_CURRENT_BINARY_DIR}/registry.json -DOUT=${layers_header}
                             -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/layers_header.cmake
                     DEPENDS ${described} cmake/layers_header.cmake cmake/layers_header.hpp.in)
  add_custom_target(dl4_layers_header ALL DEPENDS ${layers_header})
  add_dependencies(dl4_layers_header dl4_registry)
  if(NOT PROJECT_IS_TOP_LEVEL) # of who takes this tree in, what links dl4 is compiled when the header is there
    add_library(dl4_layers INTERFACE)
    add_dependencies(dl4_layers dl4_layers_header)
    target_link_libraries(dl4 INTERFACE $<BUILD_INTERFACE:dl4_layers>)
  endif()
  install(FILES ${layers_header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dl4 COMPONENT dev)
endif()
