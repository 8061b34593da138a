# The explorer: every scenario, the litmus tests and self-tests of the engine, its command line.
#
# Not under ThreadSanitizer: an exploration is one OS thread, and its own race check is
# sharper.
if(NOT WEFT_SANITIZE STREQUAL "thread")
  set(explore_dir ${CMAKE_CURRENT_LIST_DIR})
  file(GLOB explore_sources CONFIGURE_DEPENDS ${explore_dir}/*.c)
  list(FILTER explore_sources EXCLUDE REGEX "/test_[^/]*$")
  add_executable(weft-explore ${explore_sources})
  target_link_libraries(weft-explore PRIVATE weft_explore weft_flags)

  # The real bounds end well within a second each; instrumented and emulated runs get smaller ones.
  set(explore_bounds "")
  if(CMAKE_CROSSCOMPILING)
    set(explore_bounds --bound 1)
  elseif(WEFT_SANITIZE)
    set(explore_bounds --bound 2)
  endif()

  function(weft_explore_test name)
    add_test(NAME explore.${name} COMMAND weft-explore ${ARGN})
    set_tests_properties(explore.${name} PROPERTIES TIMEOUT ${default_timeout} LABELS explore
      ENVIRONMENT "${test_environment}")
  endfunction()

  # One test per scenario: a line with its name in an array.
  foreach(file ${explore_sources})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} lines REGEX "^        { \"[a-z0-9-]+\", ")
    foreach(line ${lines})
      string(REGEX REPLACE "^        { \"([a-z0-9-]+)\".*" "\\1" name "${line}")
      if(name MATCHES "^(litmus|self)-")
        weft_explore_test(${name} ${name} --bound -)
      else()
        weft_explore_test(${name} ${name} ${explore_bounds})
      endif()
    endforeach()
  endforeach()

  # The command line: good and bad arguments, and a failure that replays.
  add_test(NAME explore.command_line COMMAND ${CMAKE_COMMAND}
    "-DWEFT_EXPLORE=$<TARGET_FILE:weft-explore>" "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}"
    -P ${explore_dir}/command_line.cmake)
  set_tests_properties(explore.command_line PROPERTIES TIMEOUT ${default_timeout} LABELS explore)

  weft_add_tests(${explore_dir}/test_engine.c explore weft_explore)
endif()
