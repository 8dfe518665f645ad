# Turns a file into a C++ source with a char array, without any tool but CMake.
# As a module: dl4_embed(<file> <symbol> <output> [deflated]); run as a script it does the work, at build time.
# deflated: the array has DEFLATE's form of the file, <symbol>_deflated bytes; <symbol>_size is always the file's.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${INPUT}" hex HEX)
  file(SIZE "${INPUT}" size)
  set(deflated)
  if(FORM STREQUAL deflated)
    file(ARCHIVE_CREATE OUTPUT "${OUTPUT}.gz" PATHS "${INPUT}" FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
    file(READ "${OUTPUT}.gz" hex HEX)
    file(REMOVE "${OUTPUT}.gz")
    if(NOT hex MATCHES "^1f8b0800") # a header of ten bytes, with no name behind it
      message(FATAL_ERROR "${INPUT}: gzip's header is another than expected")
    endif()
    string(LENGTH "${hex}" length)
    math(EXPR length "${length} - 36") # without the header, the checksum and the size
    string(SUBSTRING "${hex}" 20 ${length} hex)
    math(EXPR length "${length} / 2")
    set(deflated "extern const long long ${SYMBOL}_deflated;\nconst long long ${SYMBOL}_deflated = ${length};\n")
  endif()
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  file(WRITE "${OUTPUT}" "// Generated from a file of the repository.\n"
    "extern const char ${SYMBOL}[];\nextern const long long ${SYMBOL}_size;\n"
    "const char ${SYMBOL}[] = {\n${bytes}0};\nconst long long ${SYMBOL}_size = ${size};\n${deflated}")
else()
  set(DL4_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
  function(dl4_embed file symbol output)
    add_custom_command(
      OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${output}
      COMMAND ${CMAKE_COMMAND} -DINPUT=${CMAKE_CURRENT_SOURCE_DIR}/${file} -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/${output}
              -DSYMBOL=${symbol} -DFORM=${ARGN} -P ${DL4_EMBED_SCRIPT}
      DEPENDS ${file} ${DL4_EMBED_SCRIPT} VERBATIM)
  endfunction()
endif()
