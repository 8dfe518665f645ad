# Strips a copy of the library and fails if that has more than so many bytes.
#   cmake -DLIBRARY=FILE -DSTRIP=PROGRAM -DMOST=BYTES -DCOPY=FILE -P library_size.cmake
execute_process(COMMAND ${STRIP} -o ${COPY} ${LIBRARY} COMMAND_ERROR_IS_FATAL ANY)
file(SIZE ${COPY} bytes)
file(REMOVE ${COPY})
if(bytes GREATER MOST)
  message(FATAL_ERROR "the stripped library has ${bytes} bytes, more than ${MOST}")
endif()
message(STATUS "the stripped library has ${bytes} bytes of at most ${MOST}")
