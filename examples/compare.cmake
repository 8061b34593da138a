# Runs an example and compares its output: cmake -DPROGRAM=... -DEXPECTED=FILE -P compare.cmake
separate_arguments(EMULATOR)
execute_process(COMMAND ${EMULATOR} ${PROGRAM}
  RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err TIMEOUT 50)
file(READ ${EXPECTED} expected)
if(NOT status STREQUAL "0" OR NOT out STREQUAL expected)
  message(FATAL_ERROR "status ${status}, and it said:\n${out}${err}instead of:\n${expected}")
endif()
