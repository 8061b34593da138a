# Crash tests: programs that must die, in child processes, with the right last words.
file(GLOB crash_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.c)
# Valgrind looks at the one of them that dies in a signal handler; the others only fork and abort,
# which takes it long and shows it nothing.
foreach(file ${crash_tests})
  if(file MATCHES overflow)
    weft_add_tests(${file} crash)
  else()
    weft_add_tests(${file} crash NO_VALGRIND)
  endif()
endforeach()
