# Examples as processes, most of them servers: program.<example>.<test>.p<n>.
if(CMAKE_CROSSCOMPILING)
  return()
endif()
# Under a sanitizer they start slowly; one number of Ps is enough there.
set(program_procs 2)
if(WEFT_VALGRIND)
  set(program_procs 1 2 4)
endif()

# weft_add_program_tests(SCRIPT PROGRAM...): each test_* function of the script.
function(weft_add_program_tests script)
  set(file ${CMAKE_CURRENT_SOURCE_DIR}/programs/${script}.py)
  set(programs ${ARGN})
  list(TRANSFORM programs REPLACE "(.+)" "$<TARGET_FILE:example_\\1>")
  file(READ ${file} text)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  string(REGEX MATCHALL "\ndef test_[a-z0-9_]+" tests "${text}")
  foreach(line ${tests})
    string(REGEX REPLACE "\ndef test_" "" test ${line})
    foreach(procs ${program_procs})
      set(name program.${script}.${test}.p${procs})
      add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} ${file} ${programs} test_${test})
      set_tests_properties(${name} PROPERTIES TIMEOUT ${default_timeout} LABELS program
        SKIP_RETURN_CODE 77
        ENVIRONMENT "${test_environment};WEFT_PROCS=${procs};PYTHONDONTWRITEBYTECODE=1")
    endforeach()
  endforeach()
endfunction()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
weft_add_program_tests(lines lines)
weft_add_program_tests(echo echo)
weft_add_program_tests(socks5 socks5 echo)
if(TARGET example_httpd)
  weft_add_program_tests(http_requests httpd)
  weft_add_program_tests(http_files httpd)
endif()
