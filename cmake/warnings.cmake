# Compiler warnings: the common set for all code, a stricter one for the C border.
function(dl4_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic $<$<BOOL:${DL4_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc 12-14 see overruns that are not there in inlined vectors and nested JSON values.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds -Wno-stringop-overflow
                           -Wno-stringop-overread -Wno-maybe-uninitialized -Wno-dangling-reference -Wno-restrict>)
  endif()
endfunction()

function(dl4_border_warnings target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wconversion -Wsign-conversion -Wold-style-cast>)
endfunction()
