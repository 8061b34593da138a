# libweft, static and shared. Sources by wildcard: a new file needs no entry.

include(cmake/manifest.cmake)
include(GNUInstallDirs)         # before the first use of where things are installed

# The sources for every machine, real or simulated; cmake/engines.cmake uses the same list.
set(weft_common base arch arch/* stack sched sched/* wait scope chan sync time signal net debug hooks)
list(TRANSFORM weft_common REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/\\1/*.c")
file(GLOB weft_common_sources CONFIGURE_DEPENDS ${weft_common})
file(GLOB weft_os_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/os/linux/*.c)
set(weft_sources ${weft_common_sources} ${weft_os_sources})

# The files that contain a context switch: rules in src/arch/arch.h. The other assembly is built
# like them because LTO loses symbols that only top-level assembly defines.
weft_read_manifest(weft_switch_sources switch-files.txt)
list(FILTER weft_switch_sources INCLUDE REGEX "[.]c$")
file(GLOB assembly_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/arch/*/entry.c)
list(APPEND weft_switch_sources ${assembly_sources} ${PROJECT_SOURCE_DIR}/src/os/linux/syscall.c)
set(weft_switch_flags -fno-lto -fno-sanitize=all -fno-stack-protector -mtune=generic)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND weft_switch_flags -march=x86-64)
else()
  list(APPEND weft_switch_flags -march=armv8-a)
endif()
set_source_files_properties(${weft_switch_sources} PROPERTIES
  COMPILE_OPTIONS "${weft_switch_flags}")

add_library(weft_objects OBJECT ${weft_sources})
target_include_directories(weft_objects PRIVATE ${PROJECT_SOURCE_DIR}/src
  ${PROJECT_SOURCE_DIR}/include)
target_compile_options(weft_objects PRIVATE -fvisibility=hidden)
target_link_libraries(weft_objects PRIVATE weft_flags)

add_library(weft_static STATIC $<TARGET_OBJECTS:weft_objects>)
set_target_properties(weft_static PROPERTIES OUTPUT_NAME weft)

add_library(weft SHARED $<TARGET_OBJECTS:weft_objects>)
set_target_properties(weft PROPERTIES SOVERSION 0 VERSION ${PROJECT_VERSION}
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/weft.map)
# nodelete: threads may be in the library's code when an application would unload it.
target_link_options(weft PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/weft.map
  -Wl,-z,relro,-z,now,-z,noexecstack,-z,nodelete ${sanitize_flags})

foreach(lib weft weft_static)
  target_include_directories(${lib} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # A frame larger than the guard is caught only in code with this flag; goroutines run user code.
  target_compile_options(${lib} INTERFACE -fstack-clash-protection)
  target_link_libraries(${lib} PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
endforeach()
add_library(weft::weft ALIAS weft)
add_library(weft::weft_static ALIAS weft_static)
