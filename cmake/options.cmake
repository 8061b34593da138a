# The options of a build. The presets in CMakePresets.json name the useful combinations.

set(WEFT_SANITIZE "" CACHE STRING "address (with undefined), thread, or empty")
option(WEFT_DEBUG "assertions, lock checks, fault injection, stack high-water marks" OFF)
option(WEFT_SLOW_ASSERTS "walk whole structures at every change" OFF)
option(WEFT_WINDOWS "random pauses at the named race windows" OFF)
option(WEFT_VALGRIND "tell valgrind about stacks (needs its header)" OFF)
option(WEFT_LINES_ONLY "debug information is line numbers and no more: quicker to build" OFF)
option(WEFT_WERROR "warnings are errors" OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_package(Threads REQUIRED)

# Flags of all code of this project: library, tests, benches.
add_library(weft_flags INTERFACE)
target_compile_options(weft_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wvla -Wundef
  $<$<COMPILE_LANGUAGE:C>:-Wconversion -Wstrict-prototypes -Wmissing-prototypes>
  $<$<BOOL:${WEFT_WERROR}>:-Werror>
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
  -fno-omit-frame-pointer -fstack-clash-protection -fstack-protector-strong)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(weft_flags INTERFACE -fcf-protection=branch)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64")
  target_compile_options(weft_flags INTERFACE -mbranch-protection=standard)
endif()
target_compile_definitions(weft_flags INTERFACE
  _GNU_SOURCE
  $<$<BOOL:${WEFT_DEBUG}>:W_DEBUG>
  $<$<BOOL:${WEFT_SLOW_ASSERTS}>:W_SLOW_ASSERTS>
  $<$<BOOL:${WEFT_WINDOWS}>:W_WINDOWS>
  $<$<BOOL:${WEFT_VALGRIND}>:W_VALGRIND>)

set(sanitize_flags "")
if(WEFT_SANITIZE STREQUAL "address")
  set(sanitize_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
  target_compile_definitions(weft_flags INTERFACE W_BUILT_WITH_ASAN)
elseif(WEFT_SANITIZE STREQUAL "thread")
  set(sanitize_flags -fsanitize=thread)
  target_compile_definitions(weft_flags INTERFACE W_BUILT_WITH_TSAN)
elseif(WEFT_SANITIZE)
  message(FATAL_ERROR "WEFT_SANITIZE is '${WEFT_SANITIZE}'; it may be address, thread or empty")
endif()
target_compile_options(weft_flags INTERFACE ${sanitize_flags}
  $<$<BOOL:${WEFT_SANITIZE}>:-O1> $<$<BOOL:${WEFT_LINES_ONLY}>:-g1>)
target_link_options(weft_flags INTERFACE ${sanitize_flags})
