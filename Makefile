# `make quick` sets everything up and reproduces the papers; `make help` lists the targets. Each target works on its own.
#
# Requirements: git, make, Python 3.11 or newer with venv, a stable Rust toolchain, a C linker. Everything else goes into .venv and target/.
# The stamps in .venv/stamps record what is up to date.

PYTHON ?= python3
FUZZ_SECONDS ?= 600
CHAOS_BASE ?= 1
CHAOS_COUNT ?= 100000
CHAOS_HOURS ?=
INJECT ?=
MUTANTS_SEED ?= 1
MUTANTS_COUNT ?=
CARGO_MUTANTS := 27.1.0
PLATFORMS ?=
PAPER := all
PEER := ns2
ALGORITHM := vegas

MUTANTS = $(BIN)/python tests/mutants
MUTANTS_DRAWN = --seed $(MUTANTS_SEED) $(if $(MUTANTS_COUNT),--count $(MUTANTS_COUNT)) $(if $(BASE),--base $(BASE))

CHAOS := cargo run --profile chaos --locked --quiet --package dumbbell-chaos --

# `cargo test --workspace` builds these programs too, with more features of what they depend on than `cargo run` does,
# which builds it again. The continuous integration takes what is there.
XTASK ?= cargo run --quiet --locked --bin xtask --
CHAOS_SMOKE ?= cargo run --quiet --locked --bin dumbbell-chaos --

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
# The engine that users run. The continuous integration uses that of its tests instead, which gives the same results.
FAST ?= $(STAMPS)/fast-engine
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-strip-extras
REQUIREMENTS := import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))

# Build the engine for the interpreter of the environment, even if others are installed.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1
# Packages are compiled when they are imported first: without files of bytecode, each process would compile them again.
unexport PYTHONDONTWRITEBYTECODE
unexport CONDA_PREFIX PYTHONPATH PYTHONHOME

# All Rust sources, with new ones: cargo fmt does not see modules that macros declare.
RUST = $(or $(wildcard $(shell git ls-files --cached --others --exclude-standard '*.rs')),$(error the Rust sources are listed by git: this is no checkout))

ENGINE := $(shell find crates -type f \( -name '*.rs' -o -name '*.toml' -o -name '*.csv' \)) Cargo.toml Cargo.lock pyproject.toml

.PHONY: help figure website lab lab-test lab-random reproduce evaluate test check hostile builds fmt tidy licences advisories lint lint-rust lint-python rust rust-tests bytecode python header qlog tutorials torture torture-kernel torture-testbed inject testbed testbed-smoke testbed-measure twins quick cross-validate cross-validate-smoke bench bench-smoke bench-peers bench-scale bench-alone fuzz chaos chaos-smoke mutants mutants-python mutants-rust wheels wheel-test release format lock clean
.DELETE_ON_ERROR:

# One target after the other, except for pairs of which one uses a single core.
TOGETHER := $(MAKE) --no-print-directory --jobs 2 ONE_BY_ONE=
ONE_BY_ONE := yes
ifneq ($(ONE_BY_ONE),)
.NOTPARALLEL:
endif

help:
	@echo "make figure         build everything and draw a first run: results/first/picture.png"
	@echo "make quick          build everything and reproduce every paper with fewer replications"
	@echo "make reproduce      the same with all replications; PAPER=NAME reproduces one paper"
	@echo "make test           run all checks: fmt tidy licences advisories lint rust python tutorials website; each is also a target"
	@echo "make check          check what differs from main or BASE in about a minute: lints, and the tests nearest to it"
	@echo "make website        build the site, with the gallery, the notebooks and the interface, in results/website/site"
	@echo "make lab            build the page with the engine as WebAssembly in results/website/lab; needs node and npm"
	@echo "make lab-test       build it, and test it in node and Chromium"
	@echo "make lab-random     compare LAB_COUNT=$(LAB_COUNT) random scenarios in it with their native results"
	@echo "make cross-validate run the same scenarios in Dumbbell and in ns-2 (PEER=ns3: ns-3); cross-validate-smoke: a subset"
	@echo "make evaluate       evaluate ALGORITHM=$(ALGORITHM) by RFC 9743 with fewer replications"
	@echo "make bench          measure delivered packets per CPU second; bench-smoke: a short measurement"
	@echo "make bench-peers    compare the speed with ns-2 and ns-3; bench-scale: cost and memory by size"
	@echo "make bench-alone    compare what every TCP uses of a link alone with theory; takes about half an hour"
	@echo "make testbed        transfers, runs and programs over emulated links; needs Linux, root and clang-16"
	@echo "make testbed-measure  rate and lateness of a shell's links, with iperf3, a trace and a browser; needs Linux and root"
	@echo "make torture-kernel   run 200 scenarios with kernels in simulated time four times, and compare every packet"
	@echo "make torture-testbed  kill runs in real time and shells 200 times; takes about half an hour, needs Linux and root"
	@echo "make testbed-smoke  the twins, and two flows compared with the simulator, in 30 s; what is missing is told"
	@echo "make twins          load the eBPF twins into the running kernel; needs Linux and root"
	@echo "make header         write the C header of the interface of compiled algorithms"
	@echo "make qlog           compare the log of quinn with what the engine records"
	@echo "make hostile        give every command bad input, full disks, little memory and signals"
	@echo "make torture        kill and damage stores, campaigns and cluster workers; takes about an hour"
	@echo "make inject         let each call on files fail under stores, outputs, campaigns and a paper (INJECT=...); needs strace"
	@echo "make fuzz           run each fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS) seconds; needs cargo-fuzz and a nightly toolchain"
	@echo "make chaos          check CHAOS_COUNT=$(CHAOS_COUNT) random scenarios (CHAOS_BASE, CHAOS_HOURS); chaos-smoke: the first 1,100"
	@echo "make mutants        change random lines (MUTANTS_SEED, MUTANTS_COUNT), or those that differ from BASE, and see whether a"
	@echo "                    test fails; also mutants-python and mutants-rust, which needs cargo-mutants"
	@echo "make wheels         build the wheel for users in results/wheels; PLATFORMS=all: for all of Linux"
	@echo "make wheel-test     build a wheel for this machine, and test it in an empty environment"
	@echo "make release        check, date the changelog, tag and build the wheels of VERSION; uploads nothing"
	@echo "make format         format the sources"
	@echo "make lock           update the locked Python packages after a change of dependencies in pyproject.toml"
	@echo "make clean          remove builds and the environment; keep results/"

# --- a first run ---

# Without optimization across crates, the engine is built in half the time, and takes up to a fifth longer for its runs.
FIRST := $(firstword $(wildcard $(FAST)) $(STAMPS)/first-engine)

figure: $(FIRST)
	@mkdir -p results/first
	$(BIN)/dumbbell run examples/vegas-vs-reno.toml --plot results/first/picture.png

# --- the main job ---

reproduce: $(FAST)
	$(BIN)/dumbbell reproduce $(PAPER)

quick: $(FAST)
	$(BIN)/dumbbell reproduce $(PAPER) --quick

# --- cross-validation; needs the Debian package of the peer ---

cross-validate: $(FAST)
	$(BIN)/dumbbell cross-validate $(PEER)

cross-validate-smoke: $(FAST)
	$(BIN)/dumbbell cross-validate ns2 --grid forced-drops --strict --output results/smoke/forced-drops
	$(BIN)/dumbbell cross-validate ns2 --grid single-flows --share 0.1 --strict --output results/smoke/single-flows

evaluate: $(FAST)
	$(BIN)/dumbbell evaluate $(ALGORITHM) --quick

# --- checks ---

test: builds fmt tidy licences advisories
	@$(TOGETHER) lint-rust $(STAMPS)/engine
	@$(TOGETHER) rust lint-python bytecode
	@$(MAKE) --no-print-directory python
	@$(TOGETHER) tutorials website
	@echo "make test: all checks passed"

# What a change can break, in about a minute; docs/development.md tells what is left out.
check: $(STAMPS)/test-packages
	@$(BIN)/python .ci/check.py $(if $(BASE),--base $(BASE))

# Packages are installed while crates are compiled.
builds: $(STAMPS)/python
	@$(TOGETHER) $(STAMPS)/test-packages rust-tests

# The header for algorithms in C; a test says when it is not that of the interface.
header:
	cargo run --quiet --locked --package xtask --features header -- header

# The log of quinn against what the engine records; nothing else needs the crates that write it.
qlog: $(STAMPS)/python
	cargo clippy --package dumbbell-transports --features qlog --all-targets --locked --quiet -- -D warnings
	MAKEFLAGS= cargo test --package dumbbell-transports --features qlog --locked

rust-tests: $(STAMPS)/python
	cargo test --workspace --locked --quiet --no-run

fmt: $(STAMPS)/test-packages
	@rustfmt --check $(RUST) && echo "$(words $(RUST)) files of Rust already formatted"
	$(BIN)/ruff format --check .

tidy:
	$(XTASK) tidy

# cargo-deny takes minutes to build, so it is used only if installed; the licences are checked either way.
licences:
	@if cargo deny --version >/dev/null 2>&1; then \
		echo "cargo deny check licenses bans sources" && cargo deny --log-level error check licenses bans sources; \
	else \
		echo "SKIPPED bans and sources: cargo-deny is not installed; licences are checked against deny.toml" >&2; \
		$(XTASK) licences; \
	fi

# Asks a service on the Internet; without a connection, the check is skipped and says so.
advisories: $(STAMPS)/python
	@$(BIN)/python .ci/advisories.py

lint: $(STAMPS)/test-packages
	@$(TOGETHER) lint-rust lint-python

# With what only Linux has; `cargo test` compiles what is instead of it. The fuzz targets are checked without their C++
# library.
lint-rust: $(STAMPS)/python
	CUSTOM_LIBFUZZER_PATH=/none/libfuzzer.a cargo clippy --workspace --features dumbbell-testbed/kernel --all-targets --locked --quiet -- -D warnings

# The types of scenarios are those of the engine's schema.
lint-python: $(STAMPS)/engine $(STAMPS)/test-packages
	$(BIN)/ruff check .
	$(BIN)/mypy

# Without make's flags, which those that compile the documentation's examples cannot use.
rust: $(STAMPS)/python
	MAKEFLAGS= cargo test --workspace --locked --quiet

# Compiles the packages and the tests while others run: the processes of `make python` would each do that.
bytecode: $(STAMPS)/engine $(STAMPS)/test-packages
	$(BIN)/pytest tests/python tests/tutorials --collect-only --quiet --quiet >/dev/null

# One process more than cores: some tests wait.
python: $(STAMPS)/engine $(STAMPS)/test-packages
	$(BIN)/pytest tests/python --numprocesses $$(($$(getconf _NPROCESSORS_ONLN) + 1)) --dist worksteal

tutorials: $(STAMPS)/engine $(STAMPS)/test-packages
	$(BIN)/pytest tests/tutorials --numprocesses auto --dist loadfile

# The page with the engine as WebAssembly. Where a tool is missing, it is skipped and says so.
lab:
	@website/lab/build.sh

# In Node, and in Chromium where there is one.
lab-test: lab
	@website/lab/test.sh

# As many random scenarios as LAB_COUNT states, in Node and natively: the same fingerprints, tables and traces.
LAB_COUNT ?= 2000
lab-random: lab $(STAMPS)/engine
	cargo build --package dumbbell-chaos --locked --quiet
	@website/lab/random.sh $(LAB_COUNT)

# Uses the figures and notebooks that the tests have made, if they are newer than their sources, and the lab if it is built.
website: $(STAMPS)/engine $(STAMPS)/test-packages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Bad input of every kind to every command, each in a fork of one process.
hostile: $(STAMPS)/engine $(STAMPS)/test-packages
	$(BIN)/pytest tests/hostile

# Not part of `make test`: it takes as long as about a hundred reproductions.
torture: $(STAMPS)/engine $(STAMPS)/test-packages
	$(BIN)/python tests/torture/store.py
	$(BIN)/python tests/torture/campaign.py

# Not part of `make test` either, which contains a sample. INJECT has options: INJECT="--only store --share 0.1".
inject: $(STAMPS)/engine $(STAMPS)/test-packages
	$(BIN)/python tests/torture/injection.py $(INJECT)

format: $(STAMPS)/test-packages
	@rustfmt $(RUST)
	$(BIN)/ruff format .

# --- congestion controls in the Linux kernel; needs root, clang-16, libelf, zlib and pkg-config ---

twins:
	cargo clippy --package dumbbell-bpf --features kernel --all-targets --locked --quiet -- -D warnings
	cargo test --package dumbbell-bpf --features kernel --locked

# --- benchmarks and robustness ---

bench:
	cargo run --profile fast --locked --quiet --package dumbbell-benches

bench-smoke:
	cargo run --quiet --locked --bin dumbbell-benches -- --smoke

bench-peers: $(FAST)
	$(BIN)/dumbbell bench peers

# Part of it measures wall-clock time: the machine must be idle.
bench-scale: $(FAST)
	$(BIN)/dumbbell bench scale

bench-alone: $(FAST)
	$(BIN)/dumbbell bench alone

testbed: $(STAMPS)/engine $(STAMPS)/test-packages
	cargo clippy --package dumbbell-testbed --features twins --all-targets --locked --quiet -- -D warnings
	cargo test --package dumbbell-testbed --features twins --locked --lib --test it -- --nocapture
	$(BIN)/pytest tests/testbed -s

torture-kernel: $(STAMPS)/engine
	$(BIN)/python tests/torture/kernel.py

torture-testbed: $(STAMPS)/engine
	$(BIN)/python tests/torture/testbed.py

# The figures count on a quiet machine only.
testbed-measure: $(STAMPS)/engine
	$(BIN)/python tests/testbed/measure.py

testbed-smoke: $(STAMPS)/engine $(STAMPS)/test-packages
	$(BIN)/pytest tests/testbed/test_smoke.py

# No sanitizer: there is no unsafe code here, and fuzzing is many times faster without one. Overflow checks stay on.
fuzz: export CARGO_PROFILE_RELEASE_DEBUG := 1
fuzz: $(STAMPS)/engine
	@cargo +nightly fuzz --version >/dev/null || { echo "make fuzz needs a nightly toolchain and cargo-fuzz" >&2; exit 2; }
	@mkdir -p fuzz/corpus/scenario fuzz/corpus/sender fuzz/corpus/link fuzz/corpus/packet fuzz/corpus/rings fuzz/corpus/vhost fuzz/corpus/capture fuzz/corpus/connections
	$(BIN)/python fuzz/words.py > fuzz/corpus/scenario.dict
	cargo +nightly fuzz run --sanitizer none scenario fuzz/corpus/scenario fuzz/seeds/scenario examples -- \
		-dict=fuzz/corpus/scenario.dict -max_len=4096 -timeout=10 -max_total_time=$(FUZZ_SECONDS)
	cargo +nightly fuzz run --sanitizer none sender fuzz/corpus/sender fuzz/seeds/sender -- \
		-len_control=0 -max_len=2048 -timeout=10 -max_total_time=$(FUZZ_SECONDS)
	cargo +nightly fuzz run --sanitizer none link fuzz/corpus/link fuzz/seeds/link -- \
		-len_control=0 -max_len=4096 -timeout=10 -max_total_time=$(FUZZ_SECONDS)
	cargo +nightly fuzz run --sanitizer none packet fuzz/corpus/packet fuzz/seeds/packet -- \
		-len_control=0 -max_len=2048 -timeout=10 -max_total_time=$(FUZZ_SECONDS)
	cargo +nightly fuzz run --sanitizer none rings fuzz/corpus/rings fuzz/seeds/rings -- \
		-len_control=0 -max_len=4096 -timeout=10 -max_total_time=$(FUZZ_SECONDS)
	cargo +nightly fuzz run --sanitizer none capture fuzz/corpus/capture fuzz/seeds/capture -- \
		-len_control=0 -max_len=4096 -timeout=10 -max_total_time=$(FUZZ_SECONDS)
	cargo +nightly fuzz run --sanitizer none connections fuzz/corpus/connections -- \
		-len_control=0 -max_len=4096 -timeout=10 -max_total_time=$(FUZZ_SECONDS)
	cargo +nightly fuzz run --sanitizer none vhost fuzz/corpus/vhost fuzz/seeds/vhost -- \
		-len_control=0 -max_len=4096 -timeout=10 -max_total_time=$(FUZZ_SECONDS)

# Resumes where it stopped; findings are in results/chaos.
chaos:
	$(CHAOS) search --base $(CHAOS_BASE) \
		$(if $(CHAOS_HOURS),--hours $(CHAOS_HOURS),--count $(CHAOS_COUNT)) --strict

chaos-smoke: $(STAMPS)/engine $(STAMPS)/test-packages
	rm -rf results/smoke/chaos
	$(CHAOS_SMOKE) search --count 1100 --output results/smoke/chaos --strict
	$(CHAOS_SMOKE) emit --summary --count 200 > results/smoke/chaos/scenarios.jsonl
	$(BIN)/pytest tests/chaos

# Verdicts are kept in results/mutants, and an interrupted run continues.
mutants: mutants-python mutants-rust

mutants-python: $(STAMPS)/engine $(STAMPS)/mutants-packages
	$(MUTANTS) python $(MUTANTS_DRAWN)

mutants-rust: $(STAMPS)/mutants-packages
	@cargo mutants --version >/dev/null || \
		{ echo "make mutants-rust needs cargo-mutants: cargo install --locked --version $(CARGO_MUTANTS) cargo-mutants" >&2; exit 2; }
	$(MUTANTS) rust $(MUTANTS_DRAWN)

# --- wheels and releases: docs/releases.md ---

# An engine writes the stub that they include.
wheels: $(STAMPS)/engine $(STAMPS)/wheel-packages
	$(BIN)/python packaging/wheels.py $(PLATFORMS)

# With the engine and the programs of the tests, which are compiled already.
wheel-test: $(STAMPS)/engine $(STAMPS)/test-packages
	@rm -rf results/wheels/local
	$(BIN)/python packaging/wheels.py local --profile dev --output results/wheels/local
	$(BIN)/pytest tests/wheel

release: $(STAMPS)/test-packages
	$(BIN)/python packaging/release.py $(VERSION)

# --- the environment ---

$(STAMPS)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is required; select one with: make PYTHON=python3.12" >&2; exit 2; }
	@command -v cargo >/dev/null || { echo "a stable Rust toolchain is required: cargo is not on the PATH" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

# uv installs in a tenth of the time of pip. That installs uv itself, and everything where uv cannot: uv does not read the
# configuration of pip, which may name the index.
$(STAMPS)/uv: requirements-test.lock $(STAMPS)/python
	sed -n '/^uv==/,/[^\\]$$/p' requirements-test.lock > $(STAMPS)/uv.lock
	$(BIN)/pip install --no-compile --require-hashes --requirement $(STAMPS)/uv.lock
	@touch $@

INSTALL = installs() { $(BIN)/uv pip install --quiet --system-certs --require-hashes --requirement $$1 || \
	$(BIN)/pip install --no-compile --require-hashes --requirement $$1; }; installs

# Packages are installed from the lock files, by version and checksum. A test compares these with pyproject.toml.
$(STAMPS)/packages: requirements.lock $(STAMPS)/uv
	@$(INSTALL) requirements.lock
	@touch $@

$(STAMPS)/test-packages: requirements-test.lock $(STAMPS)/packages
	@$(INSTALL) requirements-test.lock
	@touch $@

$(STAMPS)/mutants-packages: requirements-mutants.lock $(STAMPS)/test-packages
	@$(INSTALL) requirements-mutants.lock
	@touch $@

$(STAMPS)/wheel-packages: requirements-wheels.lock $(STAMPS)/packages
	@$(INSTALL) requirements-wheels.lock
	@touch $@

# Resolves pyproject.toml for every Python and platform it allows; the only target that changes package versions.
lock: $(STAMPS)/test-packages
	$(BIN)/python -c '$(REQUIREMENTS); print(*p["build-system"]["requires"], *p["project"]["dependencies"], sep="\n")' > $(STAMPS)/packages.in
	$(BIN)/python -c '$(REQUIREMENTS); print(*p["project"]["optional-dependencies"]["test"], sep="\n")' > $(STAMPS)/test-packages.in
	$(BIN)/python -c '$(REQUIREMENTS); print(*p["dependency-groups"]["mutants"], sep="\n")' > $(STAMPS)/mutants-packages.in
	$(BIN)/python -c '$(REQUIREMENTS); print(*p["dependency-groups"]["wheels"], sep="\n")' > $(STAMPS)/wheel-packages.in
	$(LOCK) $(STAMPS)/packages.in --output-file requirements.lock
	$(LOCK) $(STAMPS)/packages.in $(STAMPS)/test-packages.in --constraint requirements.lock --output-file requirements-test.lock
	$(LOCK) $(STAMPS)/mutants-packages.in --constraint requirements-test.lock --output-file requirements-mutants.lock
	$(LOCK) $(STAMPS)/wheel-packages.in --constraint requirements-test.lock --output-file requirements-wheels.lock

# The Python package is installed in editable form, so only a change of the engine triggers a build. Tests accept either
# engine, and build the one that shares its crates with `cargo test`.
$(STAMPS)/engine: $(ENGINE) $(STAMPS)/packages
	$(BIN)/maturin develop --profile dev --locked --quiet
	$(BIN)/python -m dumbbell.scenario.stub
	@touch $@

$(STAMPS)/first-engine: $(ENGINE) $(STAMPS)/packages
	$(BIN)/maturin develop --profile release --locked --quiet
	$(BIN)/python -m dumbbell.scenario.stub
	@touch $@ $(STAMPS)/engine

$(STAMPS)/fast-engine: $(ENGINE) $(STAMPS)/packages
	$(BIN)/maturin develop --profile fast --locked --quiet
	$(BIN)/python -m dumbbell.scenario.stub
	@touch $@ $(STAMPS)/engine

clean:
	rm -rf $(VENV) target python/dumbbell/_engine*.so python/dumbbell/scenario/builders.pyi
	find . -name __pycache__ -prune -exec rm -rf {} +
