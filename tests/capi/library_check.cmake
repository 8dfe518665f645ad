# What a library of our own kernels alone loads, and how large it is.
#   cmake -DLIBRARY=... -DSTRIP=... -DWORK=... -P library_check.cmake
set(most_bytes 12000000)

execute_process(COMMAND ldd ${LIBRARY} OUTPUT_VARIABLE loaded COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n\t ]+\\.so[^\n\t ]*" names "${loaded}")
foreach(name IN LISTS names)
  cmake_path(GET name FILENAME file)
  if(NOT file MATCHES "^(libc|libm|libstdc\\+\\+|libgcc_s|libpthread|libdl|linux-vdso|ld-[a-z0-9-]+)\\.so")
    message(FATAL_ERROR "${LIBRARY} loads ${name}; expected the C and C++ libraries alone:\n${loaded}")
  endif()
endforeach()

file(COPY_FILE ${LIBRARY} ${WORK}/stripped.so)
execute_process(COMMAND ${STRIP} ${WORK}/stripped.so COMMAND_ERROR_IS_FATAL ANY)
file(SIZE ${WORK}/stripped.so bytes)
message("${bytes} bytes stripped")
if(bytes GREATER most_bytes)
  message(FATAL_ERROR "${LIBRARY} has ${bytes} bytes stripped; expected at most ${most_bytes}")
endif()
