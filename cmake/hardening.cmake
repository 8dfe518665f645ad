# What turns a write past a buffer into an end instead of a way in, as far as the compiler knows it. Sanitizers see more
# and want none of it.
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)

set(hardening_flags)
set(fortify_level 2)
if(NOT DL4_SANITIZE AND NOT EMSCRIPTEN) # where return addresses are not in memory
  # Linux checks return addresses (shadow stacks), but not targets of jumps, whose marks are 3% of the code.
  set(known_flags -fstack-protector-strong -fcf-protection=return)
  # On Windows each page of the stack is touched anyway, and GCC ends in an error of its own; for macOS clang has none.
  if(NOT WIN32 AND NOT APPLE)
    list(APPEND known_flags -fstack-clash-protection)
  endif()
  foreach(flag IN LISTS known_flags)
    string(MAKE_C_IDENTIFIER "DL4_HAS${flag}" known)
    check_cxx_compiler_flag(${flag} ${known})
    if(${known})
      list(APPEND hardening_flags ${flag})
    endif()
  endforeach()
  set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  check_cxx_source_compiles("#include <cstdlib>
                             #if __USE_FORTIFY_LEVEL != 3
                             #error unknown
                             #endif
                             int main() {}" DL4_HAS_FORTIFY_3)
  unset(CMAKE_REQUIRED_FLAGS)
  if(DL4_HAS_FORTIFY_3)
    set(fortify_level 3)
  endif()
  # First -U: distributions set a level of their own. Without optimisation the C library refuses it.
  list(APPEND hardening_flags $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
       $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=${fortify_level}>)
endif()

# Addresses of functions are bound before the program runs, and read-only then. The mark of shadow stacks is asked for by
# name: the linker leaves it out where an object is without, as Debian's start files are.
set(hardening_link_flags)
if(UNIX AND NOT APPLE AND NOT EMSCRIPTEN)
  set(hardening_link_flags -Wl,-z,now -Wl,-z,relro)
  if(DL4_HAS_fcf_protection_return AND NOT DL4_SANITIZE)
    set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,shstk)
    check_cxx_source_compiles("int main() {}" DL4_HAS_SHSTK) # not every linker knows it
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
    if(DL4_HAS_SHSTK)
      list(APPEND hardening_link_flags -Wl,-z,shstk)
    endif()
  endif()
endif()

function(dl4_hardened target)
  target_compile_options(${target} PRIVATE ${hardening_flags})
  get_target_property(type ${target} TYPE)
  if(type MATCHES "^(SHARED_LIBRARY|EXECUTABLE)$")
    target_link_options(${target} PRIVATE ${hardening_link_flags})
  endif()
  if(MINGW) # what the checks call is a library of the compiler's there
    target_link_options(${target} PUBLIC -fstack-protector-strong)
  endif()
endfunction()
