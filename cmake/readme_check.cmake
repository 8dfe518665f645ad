# The programs in the README are the files that are compiled and run. Run as: cmake -DROOT=<checkout> -P readme_check.cmake
file(READ ${ROOT}/README.md readme)
foreach(example xor.c xor.cpp lstm.py)
  file(READ ${ROOT}/capi/examples/${example} text)
  string(FIND "${readme}" "${text}" at)
  if(at EQUAL -1)
    message(SEND_ERROR "README.md does not show capi/examples/${example} as it is")
  endif()
endforeach()
