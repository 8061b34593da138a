# The front door. Each target is a line or two; CMake (presets in CMakePresets.json) does the work.
# `make help` lists what there is.

PRESET ?= release
JOBS   ?= $(shell nproc)
PREFIX ?= /usr/local
SEEDS  ?= 100000
T      ?= .

.DEFAULT_GOAL := build
.PHONY: build demo check bench stress sim explore mutants test install clean help setup

build: setup-build          ## build the library, tests and benches (PRESET=release)
	@tools/build $(PRESET)

demo: build                 ## run the main job: a million goroutines on this machine
	@build/$(PRESET)/examples/million

check: setup-check          ## every test, build flavour and house rule; minutes
	@tools/check

test: build                 ## the tests of one build (PRESET=gcc), by name (T=regex)
	@ctest --test-dir build/$(PRESET) -R '$(T)' -j $(JOBS) --output-on-failure --no-tests=error

bench: build                ## measure; prints medians and spread
	@tools/bench $(PRESET)

stress: setup-check         ## the long runs: many repetitions and seeds, bounded, with progress
	@tools/stress

sim: setup-build            ## SEEDS=... runs of each simulated scenario
	@tools/build gcc weft-sim
	@build/gcc/tests/weft-sim all --seeds $(SEEDS) --jobs $(JOBS)

explore: setup-build        ## try every interleaving of the small lock-free parts
	@tools/build gcc weft-explore
	@build/gcc/tests/weft-explore all

mutants: setup-check        ## plant every seeded bug and see it found; rewrites docs/MUTANTS.md
	@tools/mutants --table
	@tools/mutants

install: build              ## install to PREFIX (/usr/local), DESTDIR respected
	@cmake --install build/$(PRESET) --prefix $(PREFIX)

clean:                      ## remove everything that was built
	@rm -rf build

.PHONY: setup-build setup-check
setup-build:
	@tools/setup build
setup-check:
	@tools/setup check

help:                       ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*##/ { split($$1, t, ":"); printf "  make %-9s %s\n", t[1], $$2 }' \
		$(MAKEFILE_LIST)
