# Run after a plugin is linked: cmake -DREADELF=readelf -DPLUGIN=x.so -P CheckPlugin.cmake
# It must export consort_plugin_entry and nothing else, need no library of Consort, and carry the note by which it is
# listed without being loaded. A plugin that breaks this is deleted, so that the next build inspects it again.
cmake_minimum_required(VERSION 3.20)

function(refuse why)
  file(REMOVE ${PLUGIN})
  message(FATAL_ERROR "${PLUGIN}: ${why}")
endfunction()
function(ask out)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${READELF} -W ${ARGN} ${PLUGIN}
                  OUTPUT_VARIABLE text ERROR_VARIABLE error RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    refuse("${READELF} cannot read it: ${error}")
  endif()
  string(REPLACE ";" "," text "${text}")
  string(REPLACE "[" "(" text "${text}") # brackets would glue list items together
  string(REPLACE "]" ")" text "${text}")
  string(REPLACE "\n" ";" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

ask(lines --dyn-syms)
set(exported "")
foreach(line IN LISTS lines)
  if(line MATCHES " (GLOBAL|WEAK|UNIQUE) +(DEFAULT|PROTECTED) +([0-9]+|ABS|COM) +([^ ]+)")
    list(APPEND exported ${CMAKE_MATCH_4})
  endif()
endforeach()
if(NOT exported STREQUAL "consort_plugin_entry")
  list(JOIN exported ", " exported)
  refuse("exports \"${exported}\", but must export consort_plugin_entry alone: write CONSORT_MODULE(...) once, at file scope")
endif()

ask(lines --dynamic)
foreach(line IN LISTS lines)
  if(line MATCHES "NEEDED.*\\((libconsort[^)]*)\\)")
    refuse("needs ${CMAKE_MATCH_1}, but a plugin links nothing of Consort: what it may call comes in the host table")
  endif()
endforeach()

ask(lines --section-headers)
if(NOT lines MATCHES "\\.note\\.consort ")
  refuse("has no .note.consort: CONSORT_MODULE(...) writes it; do not strip it")
endif()
