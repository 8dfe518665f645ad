# Finds what the core stands on and gathers it in one interface target, dl4_dependencies.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
if(DL4_BACKENDS STREQUAL full)
  find_package(oneDNN 2.6 REQUIRED)
  pkg_check_modules(openblas REQUIRED IMPORTED_TARGET openblas>=0.3.20)
  if(NOT oneDNN_CPU_RUNTIME MATCHES "^(OMP|SEQ)$" AND NOT DL4_ANY_ONEDNN_RUNTIME)
    message(FATAL_ERROR "oneDNN was built with the CPU runtime ${oneDNN_CPU_RUNTIME}; libdl4 is tested with OMP and "
                        "SEQ. Set DL4_ANY_ONEDNN_RUNTIME=ON to try.")
  endif()
  message(STATUS "oneDNN ${oneDNN_VERSION}, CPU runtime ${oneDNN_CPU_RUNTIME}; OpenBLAS ${openblas_VERSION}")
endif()
# Its headers alone: what they call is in src/backend/cpu/kernels/simd/targets.cpp.
pkg_check_modules(highway REQUIRED libhwy>=1.0.3)
find_package(spdlog 1.10 REQUIRED)
if(DL4_BACKENDS STREQUAL own)
  set(ZLIB_USE_STATIC_LIBS ON) # the library then needs nothing but the C and C++ libraries
  find_package(ZLIB)
  if(NOT ZLIB_FOUND)
    set(ZLIB_USE_STATIC_LIBS OFF)
  endif()
endif()
find_package(ZLIB REQUIRED)

message(STATUS "Highway ${highway_VERSION}; spdlog ${spdlog_VERSION}; zlib ${ZLIB_VERSION_STRING}")

add_library(dl4_dependencies INTERFACE)
target_include_directories(dl4_dependencies SYSTEM INTERFACE ${highway_INCLUDE_DIRS})
target_link_libraries(dl4_dependencies INTERFACE ZLIB::ZLIB)
if(DL4_BACKENDS STREQUAL full)
  target_link_libraries(dl4_dependencies INTERFACE oneDNN::oneDNN PkgConfig::openblas)
endif()
# What a program links beside libdl4.a; its language may be C.
set(DL4_STATIC_NEEDS z stdc++ m pthread)
if(APPLE)
  list(TRANSFORM DL4_STATIC_NEEDS REPLACE "^stdc" c)
endif()
if(NOT WIN32)
  list(APPEND DL4_STATIC_NEEDS dl)
elseif(MINGW)
  list(APPEND DL4_STATIC_NEEDS ssp) # where the C library has no stack protector
endif()
if(DL4_BACKENDS STREQUAL full)
  list(PREPEND DL4_STATIC_NEEDS dnnl openblas)
endif()
# spdlog and what it formats with by their headers: nothing is shared with a host that has them in another version, and
# two libraries less are loaded.
target_include_directories(
  dl4_dependencies SYSTEM INTERFACE $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_definitions(
  dl4_dependencies INTERFACE $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_COMPILE_DEFINITIONS>)
if(TARGET fmt::fmt-header-only)
  target_link_libraries(dl4_dependencies INTERFACE fmt::fmt-header-only)
endif()
