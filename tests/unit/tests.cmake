# Unit tests: one file per source file that has logic, single-threaded where possible.
file(GLOB unit_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.c)
# A switch stands in it.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/test_context.c PROPERTIES
  COMPILE_OPTIONS "${weft_switch_flags}")
foreach(file ${unit_tests})
  weft_add_tests(${file} unit)
endforeach()
target_link_libraries(t_unit_context PRIVATE m)
target_link_libraries(t_unit_fiber PRIVATE m)
