# Two commands: `make demo` and `make test`. Everything they need is put into .venv and build/.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUILD := build/python
WERROR := $(if $(CI),ON,OFF)

.PHONY: help demo test build bench campaign sanitize fuzz lint format clean

help:
	@echo "make demo    build taut and show a robot dropped on its feet, beside closed forms, and on a page"
	@echo "make test    build everything and run the tests of both languages"
	@echo "make bench   taut and MuJoCo on the same files, in one process"
	@echo "make campaign   random scenes, programs, files and faults, an hour: STEPS= INPUTS= KILLS= SEED= HOURS= JOBS= RESUME="
	@echo "make sanitize   tests under sanitizers: SANITIZE=address,undefined or SANITIZE=thread"
	@echo "make fuzz       libFuzzer on readers, judge, GJK and patches (needs clang): SECONDS="
	@echo "make lint    formatting and static checks;  make format  puts them right"
	@echo "make clean   remove build/ and .venv"

# Build requirements first, so that the package itself is built once, in place, without isolation.
$(VENV)/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "taut needs Python 3.10 or later: make PYTHON=python3.x"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  "scikit-build-core>=0.10" "nanobind>=2.4" "pin>=4.1,<5" "libpinocchio[build]" cmeel-eigen "cmake>=3.24" ninja
	@touch $@

build: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation \
	  -C build-dir=$(BUILD) -C cmake.define.TAUT_BUILD_TESTS=ON -C cmake.define.TAUT_WERROR=$(WERROR) -e ".[test]"

demo: build
	$(BIN)/taut demo --page build/demo.html

test: build
	$(BIN)/ctest --test-dir $(BUILD) --output-on-failure -j 2 --no-tests=error
	TAUT_BUILD_DIR=$(CURDIR)/$(BUILD) $(BIN)/python -m pytest -n 2 --dist loadfile

bench: build
	$(BIN)/taut bench step

# docs/campaign.md. The journal is build/campaign/SEED.jsonl; RESUME=that goes on with it.
STEPS ?= 1000000
INPUTS ?= 100000
KILLS ?= 200
SEED ?= 1
HOURS ?= 0
JOBS ?= $(shell nproc)
campaign: build
	$(BIN)/python tests/fuzz run --steps $(STEPS) --inputs $(INPUTS) --kills $(KILLS) --seed $(SEED) --hours $(HOURS) \
	  --jobs $(JOBS) $(if $(RESUME),--resume $(RESUME))

SANITIZE ?= address,undefined
sanitize: $(VENV)/ready
	PATH=$(CURDIR)/$(BIN):$$PATH tests/fuzz/sanitize $(SANITIZE)

SECONDS ?= 60
fuzz: $(VENV)/ready
	PATH=$(CURDIR)/$(BIN):$$PATH tests/fuzz/libfuzzer/run $(SECONDS)

$(VENV)/tools: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "ruff>=0.6" "clang-format>=18" "pre-commit>=3"
	@touch $@

CXX_FILES = $(shell git ls-files '*.cpp' '*.hpp')

lint: $(VENV)/tools
	$(BIN)/clang-format --dry-run --Werror $(CXX_FILES)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/tools
	$(BIN)/clang-format -i $(CXX_FILES)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf build $(VENV)
