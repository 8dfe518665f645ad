# Finds what the core stands on and gathers it in one interface target, dl4_dependencies.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(oneDNN 2.6 REQUIRED)
pkg_check_modules(openblas REQUIRED IMPORTED_TARGET openblas>=0.3.20)
# Its headers alone: what they call is in src/backend/cpu/kernels/simd/targets.cpp.
pkg_check_modules(highway REQUIRED libhwy>=1.0.3)
find_package(spdlog 1.10 REQUIRED)
find_package(ZLIB REQUIRED)

if(NOT oneDNN_CPU_RUNTIME MATCHES "^(OMP|SEQ)$" AND NOT DL4_ANY_ONEDNN_RUNTIME)
  message(FATAL_ERROR "oneDNN was built with the CPU runtime ${oneDNN_CPU_RUNTIME}; libdl4 is tested with OMP and SEQ. "
                      "Set DL4_ANY_ONEDNN_RUNTIME=ON to try.")
endif()
message(STATUS "oneDNN ${oneDNN_VERSION}, CPU runtime ${oneDNN_CPU_RUNTIME}; OpenBLAS ${openblas_VERSION}; "
               "Highway ${highway_VERSION}; spdlog ${spdlog_VERSION}; zlib ${ZLIB_VERSION_STRING}")

add_library(dl4_dependencies INTERFACE)
target_include_directories(dl4_dependencies SYSTEM INTERFACE ${highway_INCLUDE_DIRS})
target_link_libraries(dl4_dependencies INTERFACE oneDNN::oneDNN PkgConfig::openblas ZLIB::ZLIB)
# spdlog and what it formats with by their headers: nothing is shared with a host that has them in another version, and
# two libraries less are loaded.
target_include_directories(
  dl4_dependencies SYSTEM INTERFACE $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_definitions(
  dl4_dependencies INTERFACE $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_COMPILE_DEFINITIONS>)
if(TARGET fmt::fmt-header-only)
  target_link_libraries(dl4_dependencies INTERFACE fmt::fmt-header-only)
endif()
