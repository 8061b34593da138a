# The same sources on two other machines: the simulator and the explorer.
# W_HOOKED turns every atomic access into a call to the engine (src/base/atomic_hooks.h).

# weft_engine(NAME DEFINITIONS ... SOURCES ...) makes a static library NAME. The engine's own files
# are built like the others; the files that contain a switch keep their flags.
function(weft_engine name)
  cmake_parse_arguments(arg "" "" "DEFINITIONS;SOURCES" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src
    ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(${name} PUBLIC W_HOOKED ${arg_DEFINITIONS})
  target_link_libraries(${name} PUBLIC weft_flags Threads::Threads)
  # Directory-scoped: the property set in library.cmake holds only where it was set.
  set_source_files_properties(${weft_switch_sources} PROPERTIES
    COMPILE_OPTIONS "${weft_switch_flags}")
endfunction()

file(GLOB sim_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/os/sim/*.c)
# Eight slots instead of 256: a scenario of a few thousand steps fills and wraps them.
weft_engine(weft_sim DEFINITIONS W_SIM W_RUNQ_CAP=8 W_PARENTS_CAP=4
  SOURCES ${weft_common_sources} ${sim_sources})

# Four slots instead of 256: small enough to try everything, large enough to wrap. Only the
# parts of the scheduler that have scenarios; tests/explore/goroutines.c stands in for the rest.
weft_read_manifest(small_parts explored-files.txt)
file(GLOB explore_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/os/explore/*.c)
weft_engine(weft_explore DEFINITIONS W_EXPLORE W_RUNQ_CAP=4 W_PARENTS_CAP=2
  SOURCES ${small_parts} ${explore_sources})

# The target without_engines: everything except the engines and their tests.
function(weft_add_without_engines)
  set(wanted "")
  foreach(dir ${PROJECT_SOURCE_DIR} ${ARGN})
    get_property(targets DIRECTORY ${dir} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target ${targets})
      get_target_property(type ${target} TYPE)
      if(type MATCHES "EXECUTABLE|SHARED|STATIC" AND
         NOT target MATCHES "^(weft[-_](sim|explore)|t_(sim|explore)_.*)$")
        list(APPEND wanted ${target})
      endif()
    endforeach()
  endforeach()
  add_custom_target(without_engines DEPENDS ${wanted})
endfunction()
