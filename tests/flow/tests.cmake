# Flow tests: walks through several parts at once, in rooms like those of src.
file(GLOB_RECURSE flow_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.c)
# Tests of the scheduler run at one P, at two, and at more Ps than most build machines have CPUs.
set(scheduler_tests child_first go inspect locals migrate parallel run run_end run_faults spawn
  spawn_scale stack_inherit unpark wake_batch)
list(APPEND scheduler_tests chan chan_fair chan_linear chan_misuse chan_typed select select_fd
  select_kinds select_scale)
list(APPEND scheduler_tests scope scope_calls scope_guest scope_guest_end scope_nest scope_race)
list(APPEND scheduler_tests accept connect dial edge_triggered fd_order files io_deadlines io_storm
  listen message pipe resolve sockets transfer tty wait_fd waitpid)
list(APPEND scheduler_tests sleep tick timer)
list(APPEND scheduler_tests abandon blocked_report blocking_region lock_thread lock_thread_end
  main_thread preempt preempt_calls preempt_loops preempt_thread_count procs procs_keep stop_world
  take_p take_unused_p template_thread)
list(APPEND scheduler_tests attach dump embed foreign foreign_threads preempt_counters)
list(APPEND scheduler_tests fork process_exit signal signal_storm)
list(APPEND scheduler_tests cond line_cost mutex once rwmutex sem sync_history sync_lifetime wg)
foreach(file ${flow_tests})
  string(REGEX REPLACE ".*/test_(.*)[.]c$" "\\1" subject ${file})
  if(subject STREQUAL submission_soak)             # its long form is 10^9 submissions
    weft_add_tests(${file} flow PROCS 1 2 4 TIMEOUT 900)
  elseif(subject MATCHES "^(connections|io_storm|mixed|record_reuse|scarce_descriptors|\
stop_world|take_p)$")
    # their long forms take minutes
    weft_add_tests(${file} flow PROCS 1 2 4 TIMEOUT 600)
  elseif(subject MATCHES "^freeze")       # likewise; and it looks at threads that valgrind runs
    weft_add_tests(${file} flow PROCS 1 2 4 TIMEOUT 600 NO_VALGRIND)
  elseif(subject STREQUAL blocked_report_where)        # valgrind has stacks of its own
    weft_add_tests(${file} flow NO_VALGRIND)
  elseif(subject STREQUAL preempt_calls)    # under valgrind a slice of 10 ms is over at once, or never
    weft_add_tests(${file} flow PROCS 1 2 4 NO_VALGRIND)
  elseif(subject STREQUAL close_lingers)        # valgrind takes close(2) for one that never waits
    weft_add_tests(${file} flow PROCS 1 2 4 NO_VALGRIND)
  elseif(subject MATCHES "^(abandon|fork|preempt|preempt_counters|preempt_loops|\
preempt_thread_count|process_exit|signal|signal_storm)$")
    # Children that end with threads: to valgrind these are leaks, and it says so as exit status. A
    # way from a goroutine's stack to the signal stack and back it takes for a large frame that is
    # gone, with all that lies between, if they are near; told of both it loses count of either.
    weft_add_tests(${file} flow PROCS 1 2 4 NO_VALGRIND)
  elseif(subject IN_LIST scheduler_tests)
    weft_add_tests(${file} flow PROCS 1 2 4)
  else()
    weft_add_tests(${file} flow)
  endif()
endforeach()
target_sources(t_flow_mixed PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/sched/mixed_shared.c
  ${CMAKE_CURRENT_LIST_DIR}/sched/mixed_own.c)
target_sources(t_flow_switch_registers PRIVATE ${CMAKE_CURRENT_LIST_DIR}/arch/switch_probe.c)
target_link_libraries(t_flow_switch_registers PRIVATE m)
target_link_libraries(t_flow_pipe PRIVATE util)    # openpty
target_link_libraries(t_flow_tty PRIVATE util)
target_link_libraries(t_flow_migrate PRIVATE m)
set_target_properties(t_flow_blocked_report_where t_flow_dump t_flow_freeze_dump PROPERTIES
  ENABLE_EXPORTS ON)    # names for what is told
target_link_libraries(t_flow_stack_inherit PRIVATE m)

# C++ code may run on goroutines; only this test needs the language.
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
  enable_language(CXX)
  weft_add_tests(${CMAKE_CURRENT_LIST_DIR}/arch/test_exceptions.cpp flow)
  weft_add_tests(${CMAKE_CURRENT_LIST_DIR}/chan/test_chan_cpp.cpp flow)
  target_sources(t_flow_exceptions PRIVATE ${CMAKE_CURRENT_LIST_DIR}/arch/coroutine.c)
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
      TIMEOUT ${test_timeout} SKIP_RETURN_CODE 77 LABELS flow)
  endforeach()
endif()
