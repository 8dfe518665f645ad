# Finds oneDNN by its header and library. Its own CMake package is no help on a small system: as built by Debian it
# insists on OpenCL, which nothing here uses.
# Sets oneDNN_VERSION and oneDNN_CPU_RUNTIME, and makes the target oneDNN::oneDNN.
find_path(oneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(oneDNN_LIBRARY dnnl)
mark_as_advanced(oneDNN_INCLUDE_DIR oneDNN_LIBRARY)

if(oneDNN_INCLUDE_DIR)
  # Debian 12 has the version in dnnl_version.h; a build may split off hash and number into other headers.
  file(GLOB version_headers ${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version*.h)
  foreach(header IN LISTS version_headers)
    file(READ ${header} text)
    foreach(part MAJOR MINOR PATCH)
      if(text MATCHES "#define DNNL_VERSION_${part} +([0-9]+)")
        set(oneDNN_${part} ${CMAKE_MATCH_1})
      endif()
    endforeach()
  endforeach()
  set(oneDNN_VERSION ${oneDNN_MAJOR}.${oneDNN_MINOR}.${oneDNN_PATCH})
  file(READ ${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_config.h text)
  set(oneDNN_CPU_RUNTIME unknown)
  if(text MATCHES "#define DNNL_CPU_RUNTIME DNNL_RUNTIME_([A-Z]+)")
    set(oneDNN_CPU_RUNTIME ${CMAKE_MATCH_1})
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(oneDNN REQUIRED_VARS oneDNN_LIBRARY oneDNN_INCLUDE_DIR VERSION_VAR oneDNN_VERSION)

if(oneDNN_FOUND AND NOT TARGET oneDNN::oneDNN)
  add_library(oneDNN::oneDNN UNKNOWN IMPORTED)
  set_target_properties(oneDNN::oneDNN PROPERTIES IMPORTED_LOCATION ${oneDNN_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${oneDNN_INCLUDE_DIR})
endif()
