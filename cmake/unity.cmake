# Folders as units of compilation: most of a file's time goes into headers and templates that its folder shares. Names in
# the anonymous namespaces of a folder are one set. DL4_UNITY=OFF compiles each file by itself, which shows an #include
# that is missing. What runs often stays by itself, with its own options.
option(DL4_UNITY "Compile what is not a kernel by folders, in half the time" ON)

# dl4_unity(<target> <source>...): the sources of a folder are one unit.
function(dl4_unity target)
  if(NOT DL4_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER ${folder} unit)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${unit})
  endforeach()
endfunction()

# dl4_unity_tests(<target>): its sources by twelve, in the order of their names. DL4_FILE is a namespace of each source,
# so that equal names in two tests do not collide.
function(dl4_unity_tests target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${DL4_UNITY} UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE 12
                        UNITY_BUILD_UNIQUE_ID DL4_FILE)
endfunction()
