# `make demo`, `make test`, `make test-long`, `make docs` and `make wheels` make .venv and install what they need into it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO ?= out/demo
DIST ?= dist
KERNELS ?= $(CURDIR)/out/kernels

TRACE := instances/workloads/lublin_5000.swf.gz
WINDOW := window:solver=dp,objective=wait,size=20
REPLAYS = $(BIN)/transom simulate $(TRACE) --policy fcfs-easy --policy fcfs-conservative --policy sjf-easy \
	--policy optimization --policy $(WINDOW) --by mode --out $(DEMO)
STEP = $(PYTHON) run_step.py
PIP = -m pip install --no-compile --disable-pip-version-check --progress-bar off -c constraints.txt

.PHONY: demo test test-long docs links figures wheel wheels clean

demo: $(VENV)/.installed
	@# Beside the replays a second process compiles what their last policies need: each waits for what the other compiles.
	@$(BIN)/transom simulate $(TRACE) --jobs 200 --policy $(WINDOW) --policy optimization --no-figures > /dev/null 2>&1 & \
	echo "$(REPLAYS)"; $(REPLAYS); status=$$?; kill $$! 2> /dev/null; exit $$status
	@echo
	@echo "Now the suite 'first': three types of problems, a tenth of a second a run. The first time on a machine"
	@echo "functions are compiled before the clocks start."
	$(BIN)/transom bench run first --out $(DEMO)/first
	$(BIN)/transom report $(DEMO)/first -o $(DEMO)/report.html --title "A first comparison of solvers"
	@echo
	@echo "The pictures are in $(DEMO)/figures: open timeline.png, wait_by_size.png and kiviat.png first."
	@echo "The comparison of solvers is $(DEMO)/report.html: open it in a browser."
	@echo "Next: $(BIN)/transom simulate YOUR_TRACE.swf.gz --policy fcfs-easy --policy saf-easy --out out/mine"
	@echo "      $(BIN)/transom solve instances/windows/lublin.jsonl --solver auto"
	@echo "      $(BIN)/transom solve instances/selection/replay.jsonl.gz --decide knee"
	@echo "      $(BIN)/transom bench run --instances YOUR_WINDOWS.jsonl --solver auto --solver dp --out out/bench"
	@echo "      $(BIN)/transom bench run smoke --out out/smoke   # every type of problem, most solvers"
	@echo "      $(BIN)/transom solvers"

test: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@echo "The type checker, beside it the tests that are quick without compiled code, then all."
	$(BIN)/mypy & types=$$!; NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -m fast && \
	$(BIN)/python -m pytest -m "not long" -n 4 --dist loadgroup $(ARGS); tests=$$?; wait $$types && exit $$tests

# The site: pages in docs/ and the docstrings of the package.
docs: $(VENV)/.documented
	@$(STEP) "Building the site" $(BIN)/python -m sphinx -W --keep-going docs out/docs
	@echo "The site is out/docs/index.html: open it in a browser."

# Whether the addresses that the pages name outside of the site answer; takes a network.
links: $(VENV)/.documented
	@$(STEP) "Asking for links" $(BIN)/python -m sphinx -b linkcheck docs out/links

# The pictures of the site, drawn again.
figures: $(VENV)/.installed
	$(BIN)/python docs/figures/draw.py

# For each interpreter that is here a wheel for any processor of this kind, with all functions built ahead of time; and
# the sources. The functions are compiled once: `make wheels PYTHONS='python3.12 /opt/python3.13/bin/python3'`.
PYTHONS ?= python3.11 python3.12 python3.13
HEADERS = 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")'
wheels: $(VENV)/.packaging
	@here=; for each in $(PYTHONS); do \
		if $$each -c $(HEADERS) 2>/dev/null; then here="$$here --python $$each"; \
		else echo "no wheel for $$each: it does not run here, or its headers are missing"; fi; \
	done; \
	test -n "$$here" || { echo "none of $(PYTHONS) can be built for"; exit 1; }; \
	rm -rf $(KERNELS)/cpython-*; set -e; \
	$(BIN)/transom compile --processor baseline --out $(KERNELS) $$here; \
	for each in $(KERNELS)/cpython-*; do \
		TRANSOM_KERNELS=$$each $(STEP) "Packing $$each" $(BIN)/python -m hatchling build -t wheel -d $(DIST); \
	done; \
	$(STEP) "Packing the sources" $(BIN)/python -m hatchling build -t sdist -d $(DIST)
	@ls -l $(DIST)

# The same for the interpreter of $(VENV) alone.
wheel: $(VENV)/.packaging
	$(MAKE) wheels PYTHONS=$(BIN)/python

# Tests that take minutes each.
test-long: $(VENV)/.tested
	$(BIN)/python -m pytest -m long --timeout 3600 $(ARGS)

# A machine that keeps Python from writing bytecode would compile every module anew in each of the tests' processes.
unexport PYTHONDONTWRITEBYTECODE

# Nobody imports the tests of packages. Some packages hold templates that no Python compiles: they stay as they are.
COMPILE = @$(STEP) "Compiling bytecode" sh -c \
	"$(BIN)/python -m compileall -qq -j 0 -x 'site-packages/.*/tests/' $(VENV)/lib transom || true"

# The core alone, then extras on top of it.
$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Transom needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(STEP) "Making $(VENV)" $(PYTHON) -m venv $(VENV)
	@$(STEP) "Installing Transom and what it needs" $(BIN)/python $(PIP) -e .
	$(COMPILE)
	@touch $@

$(VENV)/.tested: $(VENV)/.installed
	@$(STEP) "Installing what the tests need" $(BIN)/python $(PIP) -e '.[test]'
	$(COMPILE)
	@touch $@

$(VENV)/.documented: $(VENV)/.installed
	@$(STEP) "Installing what the documentation needs" $(BIN)/python $(PIP) -e '.[docs]'
	$(COMPILE)
	@touch $@

# With the extra that trains: its functions are built, too.
$(VENV)/.packaging: $(VENV)/.installed
	@$(STEP) "Installing what wheels need" $(BIN)/python $(PIP) -e '.[learned]' hatchling setuptools
	@touch $@

clean:
	rm -rf $(VENV) out
