# Link-time optimization of code compiled for size makes the library of our own kernels 8 % smaller. Kernels and what
# each run calls are left out, as GCC would not inline functions compiled for size into them. Objects hold machine code
# too, for the tests and the static library; only GCC makes such objects.
set(dl4_lto OFF)
if(DL4_BACKENDS STREQUAL own AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND UNIX)
  set(dl4_lto ON)
endif()
option(DL4_LTO "Optimize Release builds when the shared library is linked (needs GCC)" ${dl4_lto})
if(DL4_LTO AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(FATAL_ERROR "DL4_LTO needs GCC; the compiler is ${CMAKE_CXX_COMPILER_ID}")
endif()

function(dl4_link_time_optimized target)
  if(NOT DL4_LTO)
    return()
  endif()
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-flto -ffat-lto-objects>)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL OBJECT_LIBRARY)
    target_link_options(${target} INTERFACE -fno-lto)
  else()
    target_link_options(${target} PRIVATE $<$<CONFIG:Release>:-flto=auto>)
  endif()
endfunction()
