# weft-explore's arguments: cmake -DWEFT_EXPLORE=... [-DEMULATOR=...] -P command_line.cmake

# expect(STATUS TEXT args...): that exit status, and TEXT (a regular expression) in what it prints.
function(expect status text)
  execute_process(COMMAND ${EMULATOR} ${WEFT_EXPLORE} ${ARGN}
    RESULT_VARIABLE got OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT got STREQUAL status OR NOT "${out}${err}" MATCHES "${text}")
    message(FATAL_ERROR "weft-explore ${ARGN}: status ${got}, expected ${status} and '${text}'; "
      "it said:\n${out}${err}")
  endif()
  set(said "${out}" PARENT_SCOPE)
endfunction()

expect(0 "usage: weft-explore" --help)
expect(0 "ring-two-thieves +two thieves" --list)
expect(0 "note +[0-9]+ executions +[0-9]+/s +complete" note)
expect(0 "ring-empty-thief.*complete" "ring-empty-*" --bound 1)
expect(0 "cut short" lock-three --max-executions 10)
expect(0 "complete within 2 preemptions and 1 stale reads" lock --seconds 5 --bound 2 --stale 1)

expect(2 "no scenario given")
expect(2 "no scenario 'nonesuch'" nonesuch)
expect(2 "unknown option '--frobnicate'" --frobnicate 1)
expect(2 "no value after '--bound'" note --bound)
expect(2 "--bound takes a number from 0 to 1000, not 'two'" note --bound two)
expect(2 "--bound takes a number" note --bound -3)
expect(2 "--max-executions takes a number" note --max-executions 1x)
expect(2 "--seconds takes a positive number, not '0'" note --seconds 0)
expect(2 "not a trail: 'x'" note --replay x)
expect(2 "--replay needs one scenario" all --replay 2:-:0)
expect(2 "decision 1 of the trail is 9, but it has only 2" note --replay 2:-:9)

# A failure that is expected, and a failure that is expected and missing.
expect(1 "complete" note --expect-fail)
# One execution does not find a lost wake: the self-test reports that and fails.
expect(1 "FAILED self-sleep-lost: deadlock must be found and was not" self-sleep-lost
  --max-executions 1)
expect(0 "must be found" self-sleep-lost --max-executions 1 --expect-fail)

# A trail is followed and printed: thread, operation, object, value, source line.
expect(1 "self-race: data race" self-race --replay 2:-:)
expect(0 "waker +xchg.rel +&n->word +0 by setup, = 1 +note.c:[0-9]+.*note: ok" note --replay 2:-:1)
set(first "${said}")
expect(0 "note: ok" note --replay 2:-:1)
if(NOT first STREQUAL said)
  message(FATAL_ERROR "two replays differ:\n${first}\n${said}")
endif()
expect(0 "STALE by 1" litmus-mp-relaxed --replay 2:-:0001)
