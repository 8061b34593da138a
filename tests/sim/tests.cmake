# The simulated machine: scenarios under many seeds, scenarios that must fail, and the engine itself.
#
# Not under ThreadSanitizer: a simulated run is one OS thread, so it could see nothing. The
# simulator decides what threads do to each other, and the scenarios check it.
if(NOT WEFT_SANITIZE STREQUAL "thread")
  file(GLOB sim_scenario_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/scenario_*.c)
  file(GLOB sim_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c)
  list(FILTER sim_sources EXCLUDE REGEX "/test_[^/]*$")
  add_executable(weft-sim ${sim_sources})
  target_include_directories(weft-sim PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(weft-sim PRIVATE weft_sim weft_flags)

  # Well under two seconds each. Mutants end at the first seed that shows them.
  set(sim_seeds 2000)
  if(WEFT_SANITIZE OR CMAKE_CROSSCOMPILING)
    set(sim_seeds 60)
  endif()
  set(sim_mutant_seeds 500)

  function(weft_sim_test name)
    add_test(NAME sim.${name} COMMAND ${ARGN})
    set_tests_properties(sim.${name} PROPERTIES TIMEOUT ${default_timeout} LABELS sim
      ENVIRONMENT "${test_environment}")
  endfunction()

  foreach(file ${sim_scenario_files})
    weft_read_properties(${file} seeds)
    file(STRINGS ${file} lines REGEX "^SIM_(SCENARIO|MUTANT)\\([a-z0-9_]+,")
    if(NOT lines)
      message(FATAL_ERROR "${file} contains no SIM_SCENARIO()")
    endif()
    foreach(line ${lines})
      string(REGEX REPLACE "^SIM_([A-Z]+)\\(([a-z0-9_]+),.*" "\\1;\\2" parts "${line}")
      list(GET parts 0 kind)
      list(GET parts 1 name)
      if(kind STREQUAL "SCENARIO")
        set(seeds ${sim_seeds})
        if(test_seeds)
          math(EXPR seeds "${sim_seeds} / 4")
        endif()
        weft_sim_test(${name} weft-sim ${name} --seeds ${seeds})
      else()
        weft_sim_test(${name}.is_found weft-sim ${name} --seeds ${sim_mutant_seeds} --expect-fail)
      endif()
    endforeach()
  endforeach()

  # The runner: replays are equal, arguments are checked, failures are reported.
  string(REPLACE ";" " " emulator "${CMAKE_CROSSCOMPILING_EMULATOR}")
  weft_sim_test(runner ${CMAKE_COMMAND} "-DWEFT_SIM=$<TARGET_FILE:weft-sim>"
    "-DEMULATOR=${emulator}" -P ${CMAKE_CURRENT_LIST_DIR}/runner.cmake)

  foreach(file test_sim test_machine)
    weft_add_tests(${CMAKE_CURRENT_LIST_DIR}/${file}.c sim weft_sim)
  endforeach()
endif()
