# Several test files as one translation unit: each in a namespace of its own, after the headers of all. What the files have in
# common, most of all the templates of GoogleTest, is then instantiated once. A name that stands in two files does not matter.
#   cmake -DOUTPUT=batch.cpp -DFILES=file;... -P batch.cmake
# tests/CMakeLists.txt includes this file for consort_batch(PROGRAM FILE...), which runs it at build time.
if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)
  set(headers)
  set(files)
  foreach(file IN LISTS FILES)
    cmake_path(GET file PARENT_PATH folder)
    file(STRINGS ${file} lines REGEX "^#include ")
    foreach(line IN LISTS lines)
      if(line MATCHES "^#include \"([^\"]+)\"")
        if(EXISTS ${folder}/${CMAKE_MATCH_1})
          set(line "#include \"${folder}/${CMAKE_MATCH_1}\"")
        endif()
      endif()
      string(APPEND headers "${line}\n")
    endforeach()
    cmake_path(GET file STEM stem)
    string(MAKE_C_IDENTIFIER "file_${stem}" name)
    string(APPEND files "
namespace ${name} {
namespace consort {
using namespace ::consort;
}
namespace consort_test {
using namespace ::consort_test;
}
#include \"${file}\"
}  // namespace ${name}
")
  endforeach()
  file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "// Made by tests/batch.cmake.
@headers@
namespace consort {}
namespace consort_test {}
@files@" @ONLY)
  return()
endif()

set(CONSORT_BATCH_SIZE 8)
function(consort_batch program)
  list(LENGTH ARGN count)
  math(EXPR batches "(${count} + ${CONSORT_BATCH_SIZE} - 1) / ${CONSORT_BATCH_SIZE}")
  foreach(batch RANGE 1 ${batches})
    math(EXPR from "(${batch} - 1) * ${count} / ${batches}")
    math(EXPR length "${batch} * ${count} / ${batches} - ${from}")
    list(SUBLIST ARGN ${from} ${length} files)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/batches/${program}_${batch}.cpp)
    add_custom_command(OUTPUT ${output} VERBATIM
      COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} "-DFILES=${files}" -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
      DEPENDS ${files} ${CMAKE_CURRENT_FUNCTION_LIST_FILE} COMMENT "Batching ${program} ${batch} of ${batches}")
    target_sources(${program} PRIVATE ${output})
  endforeach()
endfunction()
