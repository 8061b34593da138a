# Flow tests: several parts at once, in folders that follow src.
file(GLOB_RECURSE flow_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.c)
foreach(file ${flow_tests})
  weft_add_tests(${file} flow)
endforeach()

# C++ code may run on goroutines; only this test needs the language.
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
  enable_language(CXX)
  weft_add_tests(${CMAKE_CURRENT_LIST_DIR}/arch/test_exceptions.cpp flow)
  weft_add_tests(${CMAKE_CURRENT_LIST_DIR}/chan/test_chan_cpp.cpp flow)
else()
  message(WARNING "no C++ compiler: flow.exceptions is not built")
endif()

# gdb cannot follow a program that qemu runs, and sees the sanitizers' frames among ours.
if(NOT CMAKE_CROSSCOMPILING AND NOT WEFT_SANITIZE)
  add_executable(gdb_subject ${CMAKE_CURRENT_LIST_DIR}/arch/gdb_subject.c)
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/arch/gdb_subject.c PROPERTIES
    COMPILE_OPTIONS -g2)        # gdb is asked for its variables
  target_include_directories(gdb_subject PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(gdb_subject PRIVATE weft_static weft_flags)
  foreach(case running parked fresh)
    add_test(NAME flow.gdb.${case}
      COMMAND ${CMAKE_CURRENT_LIST_DIR}/arch/gdb_backtrace ${case} $<TARGET_FILE:gdb_subject>)
    set_tests_properties(flow.gdb.${case} PROPERTIES
      TIMEOUT ${default_timeout} SKIP_RETURN_CODE 77 LABELS flow)
  endforeach()
endif()
