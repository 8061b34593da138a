# Crash tests: programs that must die, in child processes, with the right last message.
file(GLOB crash_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.c)
foreach(file ${crash_tests})
  weft_add_tests(${file} crash)
endforeach()
