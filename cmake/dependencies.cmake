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
message(STATUS "Highway ${highway_VERSION}; spdlog ${spdlog_VERSION}")
# For what a package says that it contains.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/compiled_in.json
     "{\"Highway\": \"${highway_VERSION}\", \"spdlog\": \"${spdlog_VERSION}\", \"fmt\": \"${fmt_VERSION}\"}\n")

add_library(dl4_dependencies INTERFACE)
target_include_directories(dl4_dependencies SYSTEM INTERFACE ${highway_INCLUDE_DIRS})
if(DL4_BACKENDS STREQUAL full)
  target_link_libraries(dl4_dependencies INTERFACE oneDNN::oneDNN PkgConfig::openblas)
endif()
if(DL4_HOST_KERNELS)
  foreach(target AVX3 AVX2)
    set(CMAKE_REQUIRED_FLAGS -march=native)
    set(has_AVX3 "defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512BW__)")
    set(has_AVX2 "defined(__AVX2__) && defined(__FMA__) && defined(__BMI2__) && defined(__F16C__)")
    check_cxx_source_compiles("#if !(${has_${target}})\n#error no\n#endif\nint main() {}" DL4_HOST_HAS_${target})
    unset(CMAKE_REQUIRED_FLAGS)
    if(DL4_HOST_HAS_${target})
      target_compile_definitions(dl4_dependencies INTERFACE DL4_HOST_TARGET=HWY_${target})
      break()
    endif()
  endforeach()
endif()
# What a program links beside libdl4.a; its language may be C.
set(DL4_STATIC_NEEDS stdc++ m pthread)
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
