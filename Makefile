# The verbs that people and the continuous checks use. Each makes what it needs first; only Python (3.10 or newer)
# and Rust have to be there.
#
#   setup     .venv with the tools, and the extension built into it
#   demo      an agent and a client talk, live in the terminal
#   test      Rust and Python tests
#   lint      formatting, lints, types, generated files
#   gen       write the generated files anew from schema/
#   interop   against peers built on the TypeScript SDK; needs Node
#   compat    JSON conformance, peers built on the Rust SDK and its examples, and the official Python SDK: its tests, its
#             wire, its names, switching from it; reads outside data, see ACP_SHARED, and installs packages
#   downstream  the own tests of packages that were written for the official SDK; installs much, takes minutes
#   wheel     a release wheel in dist/, optimised by profile; needs rustup
#   bench     speed and memory of that wheel beside others, with the floors that have to hold
#   reliability  bad input, bad peers, floods, kills, secrets: figures that have to hold; FORM=--short does less
#   docs      the site of the pages and docstrings in site/; reference tables, types of the guide, links
#   pythons   the tests on every Python found on this machine
#   pydantic  objects in programs that use pydantic: its oldest version, the newest and none, on every Python found
#   fuzz      a search for inputs that break the core; needs a nightly Rust and cargo-fuzz, takes long

PYTHON ?= python3
# Where outside data lies that is not this project's to distribute (JSONTestSuite and others).
ACP_SHARED ?= $(abspath ../shared)
# The form of the reliability figures: empty for the full one, or `--short`.
FORM ?=
# The profile of the extension: `dev` compiles faster and runs slower.
PROFILE ?= release

VENV := .venv
PEER_VENV := .venv-peer
BENCH_VENV := .venv-bench
SUITE_VENV := .venv-suite
PY := $(VENV)/bin/python
CARGO ?= cargo
PEER := agent-client-protocol==0.12.1

TOOLS_READY := $(VENV)/.tools-ready
EXTENSION_READY := $(VENV)/.extension-ready
PEER_READY := $(PEER_VENV)/.ready
WHEEL_READY := dist/.ready
BENCH_READY := $(BENCH_VENV)/.ready
SUITE_READY := $(SUITE_VENV)/.ready
RUST_SOURCES := Cargo.toml $(wildcard Cargo.lock) \
	$(shell find rust/acp-core rust/acp-python -name '*.rs' -not -path '*/target/*' -o -name Cargo.toml -not -path '*/target/*')
WHEEL_SOURCES := $(RUST_SOURCES) pyproject.toml README.md tools/training.py \
	$(shell find python -name '*.py' -o -name '*.pyi' -o -name py.typed)

# The extension crate asks an interpreter how it was built; without this, Cargo asks whichever comes first.
export PYO3_PYTHON := $(CURDIR)/$(PY)
export ACP_SHARED
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup demo test lint gen interop compat downstream wheel bench reliability docs pythons pydantic fuzz clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^#   /  make /p' Makefile

setup: $(EXTENSION_READY)

$(TOOLS_READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed: make PYTHON=...")'
	@command -v $(CARGO) >/dev/null || { echo "Rust is needed (cargo)"; exit 1; }
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade 'pip>=25.1'
	$(PY) -m pip install --quiet --group dev
	@# pyright runs on Node; where there is none, one comes as a package.
	@command -v node >/dev/null || $(PY) -m pip install --quiet 'pyright[nodejs]'
	@touch $@

$(EXTENSION_READY): $(TOOLS_READY) $(RUST_SOURCES)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(PY) -m maturin develop --profile $(PROFILE) >/dev/null
	@touch $@

$(PEER_READY): Makefile $(TOOLS_READY)
	test -x $(PEER_VENV)/bin/python || $(PY) -m venv $(PEER_VENV)
	$(PEER_VENV)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(PEER_VENV)/bin/python -m pip install --quiet '$(PEER)' pytest pytest-benchmark pytest-timeout
	@touch $@

$(SUITE_READY): Makefile $(EXTENSION_READY)
	test -x $(SUITE_VENV)/bin/python || $(PY) -m venv $(SUITE_VENV)
	$(SUITE_VENV)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(SUITE_VENV)/bin/python -m pip install --quiet pytest pytest-asyncio pydantic 'httpx[http2]' websockets uvicorn
	VIRTUAL_ENV=$(CURDIR)/$(SUITE_VENV) $(PY) -m maturin develop --profile $(PROFILE) >/dev/null
	@touch $@

$(WHEEL_READY): $(TOOLS_READY) $(WHEEL_SOURCES)
	rm -rf dist
	@# It merges the profiles, and belongs to the compiler's own version.
	@rustup component add llvm-tools 2>/dev/null \
		|| { echo "a wheel is optimised by profile: needed is rustup component add llvm-tools"; exit 1; }
	$(PY) -m maturin build --quiet --release --pgo --interpreter $(PY) --out dist
	@touch $@

$(BENCH_READY): $(WHEEL_READY)
	test -x $(BENCH_VENV)/bin/python || $(PY) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BENCH_VENV)/bin/python -m pip install --quiet --group benches
	$(BENCH_VENV)/bin/python -m pip install --quiet --force-reinstall --no-deps dist/*.whl
	$(BENCH_VENV)/bin/python -m pip install --quiet dist/*.whl
	@touch $@

wheel: $(WHEEL_READY)

demo: setup
	$(VENV)/bin/acp demo

test: setup
	$(CARGO) test --quiet --workspace --exclude acp-python
	$(PY) -m pytest --quiet

lint: setup
	$(PY) -m tools.lint

gen: $(TOOLS_READY)
	$(PY) -m codegen

fuzz:
	rust/fuzz/run.sh 1000000

interop: setup
	$(PY) -m tools.interop

compat: setup $(SUITE_READY) $(PEER_READY)
	$(PY) -m tools.jsontestsuite
	$(PY) -m tools.rust_peer
	$(PY) -m tools.rust_v2
	$(PY) -m tools.wire_facts $(PEER_VENV)/bin/python $(SUITE_VENV)/bin/python
	$(PY) -m tools.api_surface $(SUITE_VENV)/bin/python
	$(PY) -m tools.official_suite $(SUITE_VENV)/bin/python
	$(PY) -m tools.switching

downstream: setup
	$(PY) -m tools.downstream

bench: $(BENCH_READY) $(PEER_READY)
	$(BENCH_VENV)/bin/python -m benches --peer $(PEER_VENV)/bin/python

reliability: setup
	$(PY) -m reliability $(FORM)

docs: setup gen
	$(PY) -m tools.readme
	$(PY) -m tools.guide
	$(PY) -m tools.differences
	$(PY) -m tools.links
	$(PY) -m sphinx --quiet --fail-on-warning --keep-going -c docs . site
	@echo "site/docs/index.html"

pythons: $(TOOLS_READY)
	$(PY) -m tools.pythons

pydantic: $(TOOLS_READY)
	$(PY) -m tools.pydantic_matrix

clean:
	rm -rf $(VENV) $(PEER_VENV) $(BENCH_VENV) $(SUITE_VENV) dist site .venv-3.* .venv-pydantic-* target tests/interop/peers/node_modules
