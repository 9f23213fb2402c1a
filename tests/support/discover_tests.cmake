# SPDX-License-Identifier: MIT
# Writes a ctest entry for each test case of EXECUTABLE to OUTPUT; cases tagged [long] carry the
# label `long` (which Catch2's own catch_discover_tests cannot give) and begin before the others, so
# that no core waits for one at the end.
cmake_minimum_required(VERSION 3.25)

# What a list of CMake's must not hold has a stand-in while it is in one.
string(ASCII 1 semicolon)
string(ASCII 2 opening)
string(ASCII 3 closing)

function(list_names variable)
  execute_process(COMMAND ${EXECUTABLE} ${ARGN} --list-test-names-only
                  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE result)
  if(NOT result MATCHES "^[0-9]+$")  # the exit status is the number of cases
    file(REMOVE ${OUTPUT})
    message(FATAL_ERROR "${EXECUTABLE} cannot list its tests: ${result}\n${output}${errors}")
  endif()
  string(REPLACE ";" "${semicolon}" output "${output}")
  string(REPLACE "[" "${opening}" output "${output}")
  string(REPLACE "]" "${closing}" output "${output}")
  string(REGEX REPLACE "\n$" "" output "${output}")
  string(REPLACE "\n" ";" output "${output}")
  set(${variable} "${output}" PARENT_SCOPE)
  set(errors "${errors}" PARENT_SCOPE)
endfunction()

list_names(names)
if(NOT names)  # Catch2 refuses to list when two cases have one name
  file(REMOVE ${OUTPUT})
  message(FATAL_ERROR "${EXECUTABLE} has no tests, or two of one name: ${errors}")
endif()
list_names(long_names "[long]")
set(script "")
foreach(name IN LISTS names)
  set(properties "WORKING_DIRECTORY [==[${DIRECTORY}]==]")
  if(name IN_LIST long_names)
    string(APPEND properties " LABELS long COST 100")
  endif()
  # The characters that mean something in Catch2's language of test names.
  string(REGEX REPLACE "([\\,\"${opening}${closing}])" "\\\\\\1" pattern "${name}")
  string(APPEND script
         "add_test([==[${PREFIX}: ${name}]==] [==[${EXECUTABLE}]==] [==[${pattern}]==])\n"
         "set_tests_properties([==[${PREFIX}: ${name}]==] PROPERTIES ${properties})\n")
endforeach()
string(REPLACE "${semicolon}" ";" script "${script}")
string(REPLACE "${opening}" "[" script "${script}")
string(REPLACE "${closing}" "]" script "${script}")
file(WRITE ${OUTPUT} "${script}")
