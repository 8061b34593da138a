# Unit tests: one file per source file that has logic, single-threaded where possible.
file(GLOB unit_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.c)
foreach(file ${unit_tests})
  weft_add_tests(${file} unit)
endforeach()
