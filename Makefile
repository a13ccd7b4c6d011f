# `make demo` and `make test` are all you need to start; both install what is missing.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
DEMO_STAMP := $(VENV)/.demo-installed
DOCS_VENV := .venv-docs
TOOLS_VENV := .venv-tools

# The tests start a thousand processes: what each has compiled is kept for the others, also where
# the environment says otherwise.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup lock demo test test-all console-test sim night soak fuzz chaos check fix codecs sync docs screenshots site bench wheels sbom audit matrix ops clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(STAMP) ## Create .venv and install Barnabas with its development tools

SOURCES := pyproject.toml setup.py requirements/uv.txt $(wildcard src/kernel/* src/json_kernel/* src/avro_kernel/* src/columns/* src/kernel_headers/*)
NEW_PYTHON = @$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Barnabas needs Python 3.11 or newer; run make PYTHON=python3.12 setup"; exit 1; }

$(STAMP): $(SOURCES) requirements/dev.txt
	$(NEW_PYTHON)
	$(PYTHON) tools/install.py $(VENV) requirements/dev.txt --project
	@touch $(DEMO_STAMP) $@

# What the demo needs is less than half of what development needs.
$(DEMO_STAMP): $(SOURCES) requirements/demo.txt
	$(NEW_PYTHON)
	$(PYTHON) tools/install.py $(VENV) requirements/demo.txt --project
	@touch $@

lock: $(STAMP) ## Pin the newest versions of all dependencies and the newest base image, and test with them
	$(BIN)/python -m tools.lock
	$(MAKE) test

demo: $(DEMO_STAMP) ## Run a website and its database through three nodes and Spark, kill some, check every event; CONSOLE=1 slower, to watch
	$(BIN)/python -m examples.demo $(if $(CONSOLE),--console --seconds 60)

test: $(STAMP) ## Test what a change can break, in about ten minutes
	$(BIN)/python -m tests.run --quick

test-all: $(STAMP) ## Test everything, in an hour; AREA=spark,log chooses folders, SHUFFLE=7 a random order
	$(BIN)/python -m tests.run $(if $(AREA),--area $(AREA)) $(if $(SHUFFLE),--shuffle $(SHUFFLE))

console-test: $(STAMP) ## Test the console's pages in a Chromium (Debian: apt install chromium)
	@command -v chromium > /dev/null || { echo "no chromium found; install it (Debian's package chromium) and run this again"; exit 1; }
	$(BIN)/pytest tests/console

sim: $(STAMP) ## Simulate a cluster: SEED=17 describes one run, SEEDS=0-299 checks many
	$(BIN)/python -m barnabas.sim $(if $(SEED),--seed $(SEED) $(if $(SPLITS),--splits $(SPLITS)),--seeds $(or $(SEEDS),0-299)) $(if $(EMPHASIS),--emphasis $(EMPHASIS))

soak: $(STAMP) ## Simulate clusters for MINUTES=10 on all cores, until a check fails; adds to the ledger; FUTURES=2 tries more of each
	$(BIN)/python -m barnabas.sim --minutes $(or $(MINUTES),10) $(if $(FUTURES),--futures $(FUTURES)) $(if $(EMPHASIS),--emphasis $(EMPHASIS))

fuzz: $(STAMP) ## Send many more hostile frames than make test (about five minutes)
	BARNABAS_FUZZ_EXAMPLES=20000 $(BIN)/pytest --timeout 1800 tests/fuzz

chaos: $(STAMP) ## Cause all faults at once in a cluster of five real nodes, for MINUTES=5, by SEED=1
	BARNABAS_CHAOS_MINUTES=$(or $(MINUTES),5) BARNABAS_CHAOS_SEED=$(or $(SEED),1) \
	  $(BIN)/pytest --capture no tests/cluster/test_chaos.py

night: $(STAMP) ## Kill parts of a small shop under load and set its clock, for MINUTES=15, by SEED=1: nothing may be lost or doubled
	$(BIN)/python -m examples.night --minutes $(or $(MINUTES),15) --seed $(or $(SEED),1)

check: $(STAMP) $(TOOLS_VENV)/.installed ## Lint, type-check, check imports, generated files and, where it can, dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/generate_codecs.py --check
	$(BIN)/python tools/generate_sync.py --check
	$(BIN)/python tools/generate_docs.py --check
	$(BIN)/python tools/draw_performance.py --check
	$(BIN)/python -m tools.audit --optional

audit: $(STAMP) $(TOOLS_VENV)/.installed ## Look for known vulnerabilities in the packages of a release
	$(BIN)/python -m tools.audit

fix: $(STAMP) ## Format and apply safe lint fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

codecs: $(STAMP) ## Generate src/barnabas/wire/messages from the schema table
	$(BIN)/python tools/generate_codecs.py

sync: $(STAMP) ## Generate the blocking clients, src/barnabas/sync, from src/barnabas/aio
	$(BIN)/python tools/generate_sync.py

docs: $(STAMP) ## Generate the tables in docs/ and the chart of the performance page
	$(BIN)/python tools/generate_docs.py
	$(BIN)/python tools/draw_performance.py

# Its own environment, without Barnabas: the generator reads the sources, and imports nothing.
$(DOCS_VENV)/.installed: requirements/uv.txt requirements/docs.txt
	$(PYTHON) tools/install.py $(DOCS_VENV) requirements/docs.txt
	@touch $@

screenshots: $(STAMP) ## Take the screenshots of the documentation from a busy cluster (Debian: apt install chromium)
	$(BIN)/python -m tools.screenshots

site: $(DOCS_VENV)/.installed ## Build the documentation site, site/index.html
	$(DOCS_VENV)/bin/python tools/build_site.py

bench: $(STAMP) ## Measure broker, clusters, clients and Spark, and print tables
	$(BIN)/python -m benchmarks

wheels: ## Build the wheels of this machine into dist/, and check each without a compiler
	$(PYTHON) -m tools.build_wheels

sbom: $(STAMP) ## List the packages that a release needs (SBOM, CycloneDX) in dist/
	$(BIN)/python -m tools.sbom

matrix: ## Run the quick part of the suite with each Python from 3.11 to 3.14 that is found
	$(PYTHON) -m tools.run_matrix

# In an environment for themselves, because Barnabas needs none of them.
$(TOOLS_VENV)/.installed: requirements/uv.txt requirements/tools.txt
	$(PYTHON) tools/install.py $(TOOLS_VENV) requirements/tools.txt
	@touch $@

# systemd-analyze only where there is one.
ops: $(TOOLS_VENV)/.installed ## Lint the Dockerfile, the compose file, the manifests and the unit in ops/
	$(TOOLS_VENV)/bin/hadolint ops/container/Dockerfile
	$(TOOLS_VENV)/bin/kubernetes-validate --strict ops/kubernetes/barnabas.yaml
	$(TOOLS_VENV)/bin/yamllint -d '{extends: default, rules: {line-length: disable, document-start: disable}}' ops/compose.yaml ops/kubernetes
	if command -v systemd-analyze > /dev/null; then \
	  sed 's,^ExecStart=[^ ]*,ExecStart=/bin/true,' ops/systemd/barnabas.service > $(TOOLS_VENV)/barnabas.service \
	  && systemd-analyze verify --man=no $(TOOLS_VENV)/barnabas.service; fi

clean: ## Remove everything that the other targets have created
	rm -rf $(VENV) $(DOCS_VENV) $(TOOLS_VENV) build dist site demo-output src/*.egg-info src/barnabas/records/_kernel.*so src/barnabas/spark/decoding/_json_kernel.*so src/barnabas/formats/arrow/_avro_kernel.*so .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
