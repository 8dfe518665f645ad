# Turns a file into a C++ source with a char array, without any tool but CMake.
# As a module: dl4_embed(<file> <symbol> <output>); run as a script it does the work, at build time.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${INPUT}" hex HEX)
  string(LENGTH "${hex}" length)
  math(EXPR size "${length} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  file(WRITE "${OUTPUT}" "// Generated from a file of the repository.\n"
    "extern const char ${SYMBOL}[];\nextern const long long ${SYMBOL}_size;\n"
    "const char ${SYMBOL}[] = {\n${bytes}0};\nconst long long ${SYMBOL}_size = ${size};\n")
else()
  set(DL4_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
  function(dl4_embed file symbol output)
    add_custom_command(
      OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${output}
      COMMAND ${CMAKE_COMMAND} -DINPUT=${CMAKE_CURRENT_SOURCE_DIR}/${file} -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/${output}
              -DSYMBOL=${symbol} -P ${DL4_EMBED_SCRIPT}
      DEPENDS ${file} ${DL4_EMBED_SCRIPT} VERBATIM)
  endfunction()
endif()
