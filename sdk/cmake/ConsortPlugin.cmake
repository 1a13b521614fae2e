# consort_add_plugin: how a plugin is built, in this repository and in anybody's.
#
#   consort_add_plugin(NAME [SOURCES file...] [LINK library...] [OUTPUT_DIR folder] [NO_INSTALL])
#
# makes NAME.so out of SOURCES (default: every *.c and *.cpp of the folder). It links what LINK names and nothing of
# Consort, exports consort_plugin_entry alone, and is inspected after each link. It lands in OUTPUT_DIR (default:
# CONSORT_PLUGIN_OUTPUT_DIR, else the binary folder) and is installed into <libdir>/consort/plugins.
# The target is consort_plugin_NAME. Beside it stands consort_static_NAME, the same source for linking into a program:
#
#   consort_test_plugin(NAME [LEVEL n])   # ctest: NAME.loads; NAME.conforms, where the consort command can tell
#
#   consort_add_static_plugin(NAME [SOURCES file...] [LINK library...])
#   target_link_libraries(app PRIVATE consort_static_NAME)   # and its entry into consort_settings.modules
#
# Headers of a plugin's own for applications lie in its include/consort. Programs link Consort::NAME for them, here and
# installed, also where the plugin itself is left out, by
#
#   consort_add_plugin_headers(NAME)
#
# What several plugins of one folder share is compiled once, by
#
#   consort_add_plugin_library(NAME SOURCES file... [LINK library...])   # then LINK NAME for each of them

set(CONSORT_PLUGIN_SUPPORT_DIR ${CMAKE_CURRENT_LIST_DIR}) # in every folder that includes this, not in the first alone
include(GNUInstallDirs)
include_guard(GLOBAL)

macro(_consort_plugin_arguments)
  cmake_parse_arguments(arg "NO_INSTALL" "OUTPUT_DIR" "SOURCES;LINK" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "plugin ${name}: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "plugin ${name}: no sources in ${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
endmacro()

function(_consort_plugin_properties target)
  target_link_libraries(${target} PRIVATE Consort::plugin ${ARGN})
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(NOT CMAKE_C_STANDARD)
    set_target_properties(${target} PROPERTIES C_STANDARD 11)
  endif()
  if(NOT CMAKE_CXX_STANDARD)
    set_target_properties(${target} PROPERTIES CXX_STANDARD 20)
  endif()
endfunction()

function(consort_add_plugin_library name)
  _consort_plugin_arguments(${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${arg_SOURCES})
  _consort_plugin_properties(${name} ${arg_LINK})
endfunction()

function(consort_add_static_plugin name)
  _consort_plugin_arguments(${ARGN})
  add_library(consort_static_${name} OBJECT EXCLUDE_FROM_ALL ${arg_SOURCES})
  _consort_plugin_properties(consort_static_${name} ${arg_LINK})
  target_compile_definitions(consort_static_${name} PRIVATE CONSORT_STATIC_PLUGIN)
endfunction()

function(consort_add_plugin_headers name)
  if(TARGET Consort::${name}) # the plugin is built by itself, and the installed Consort has its headers
    return()
  endif()
  add_library(consort_headers_${name} INTERFACE)
  add_library(Consort::${name} ALIAS consort_headers_${name})
  set_target_properties(consort_headers_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(consort_headers_${name} INTERFACE
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(NOT CONSORT_PLUGIN_NO_INSTALL)
    install(DIRECTORY include/consort DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sdk)
  endif()
  if(CONSORT_INSTALL) # with Consort itself
    install(TARGETS consort_headers_${name} EXPORT ConsortTargets)
  endif()
endfunction()

function(consort_add_plugin name)
  _consort_plugin_arguments(${ARGN})
  set(target consort_plugin_${name})
  set(exports ${CONSORT_PLUGIN_SUPPORT_DIR}/plugin.map)
  set(check ${CONSORT_PLUGIN_SUPPORT_DIR}/CheckPlugin.cmake)
  add_library(${target} MODULE ${arg_SOURCES})
  _consort_plugin_properties(${target} ${arg_LINK})
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${name})
  if(NOT TARGET consort_plugins)
    add_custom_target(consort_plugins) # all of them
  endif()
  add_dependencies(consort_plugins ${target})
  if(NOT arg_OUTPUT_DIR)
    set(arg_OUTPUT_DIR ${CONSORT_PLUGIN_OUTPUT_DIR})
  endif()
  if(arg_OUTPUT_DIR)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${arg_OUTPUT_DIR})
  endif()

  if(NOT APPLE AND NOT WIN32)
    set_target_properties(${target} PROPERTIES SUFFIX .so LINK_DEPENDS "${exports};${check}")
    target_link_options(${target} PRIVATE -Wl,--version-script=${exports})
    # Every symbol is found at link time, or the link fails. A clang sanitizer lives in the program alone: not then.
    get_directory_property(link_options LINK_OPTIONS)
    if(NOT ("${link_options} ${CMAKE_MODULE_LINKER_FLAGS} ${CMAKE_C_FLAGS} ${CMAKE_CXX_FLAGS}" MATCHES "-fsanitize="
            AND "${CMAKE_C_COMPILER_ID}${CMAKE_CXX_COMPILER_ID}" MATCHES Clang))
      target_link_options(${target} PRIVATE -Wl,-z,defs -Wl,--no-undefined)
    endif()
    if(NOT CMAKE_READELF)
      find_program(CMAKE_READELF NAMES readelf llvm-readelf)
    endif()
    if(CMAKE_READELF)
      add_custom_command(TARGET ${target} POST_BUILD VERBATIM
        COMMAND ${CMAKE_COMMAND} -DREADELF=${CMAKE_READELF} -DPLUGIN=$<TARGET_FILE:${target}> -P ${check})
    endif()
  endif()

  if(NOT arg_NO_INSTALL AND NOT CONSORT_PLUGIN_NO_INSTALL)
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/consort/plugins COMPONENT plugins)
  endif()
  if(NOT TARGET consort_static_${name})
    consort_add_static_plugin(${name} SOURCES ${arg_SOURCES} LINK ${arg_LINK})
  endif()
endfunction()

set(CONSORT_CONFORM_LEVEL 3 CACHE STRING "How much of the conformance suite plugins are tested with, 1 to 10")

function(consort_test_plugin name)
  cmake_parse_arguments(arg "" "LEVEL" "" ${ARGN})
  if(NOT arg_LEVEL)
    set(arg_LEVEL ${CONSORT_CONFORM_LEVEL})
  endif()
  set(file $<TARGET_FILE:consort_plugin_${name}>)
  find_program(CONSORT_COMMAND consort HINTS ${Consort_BIN_DIR})
  mark_as_advanced(CONSORT_COMMAND)
  if(NOT CONSORT_COMMAND)
    message(STATUS "plugin ${name}: no tests that need the consort command, which was not found; set CONSORT_COMMAND")
    return()
  endif()
  # Listed with the plugin loaded: a file that is refused stands below "not used", with the reason.
  add_test(NAME ${name}.loads COMMAND ${CONSORT_COMMAND} plugins -v)
  set_tests_properties(${name}.loads PROPERTIES TIMEOUT 60
    ENVIRONMENT CONSORT_PLUGIN_PATH=$<TARGET_FILE_DIR:consort_plugin_${name}>
    PASS_REGULAR_EXPRESSION "(scheduler|driver|interface|transport|report|layer) ${name} [^\n]*\n  file +[^\n]*/${name}\\.so")
  execute_process(COMMAND ${CONSORT_COMMAND} help conform OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE missing)
  if(NOT missing)
    add_test(NAME ${name}.conforms COMMAND ${CONSORT_COMMAND} conform ${file} --jobs 1 --level ${arg_LEVEL})
    set_tests_properties(${name}.conforms PROPERTIES TIMEOUT 600)
  endif()
endfunction()
