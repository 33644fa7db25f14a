# Each target makes .venv itself and needs nothing but a Python with pip.
PYTHON ?= python3
VENV ?= .venv
LOG ?=
ARGS ?=

BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
READY := $(VENV)/.ready
MYSQL_READY := $(VENV)/.ready-mysql

.DEFAULT_GOAL := help
.PHONY: help demo serve test faults bench lint clean

help: ## say what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## the whole thing on a real PostgreSQL, with real requests; LOG=path replays an Apache log
	@$(BIN)/python -m testproject.demo $(if $(LOG),--log "$(LOG)") $(ARGS)

serve: $(READY) ## the same, and it stays up: shop, admin and worker until Ctrl+C
	@$(BIN)/python -m testproject.demo --serve $(ARGS)

# The mysql extra has to be compiled, so it is installed only where it is used.
test: $(READY) $(if $(TEST_MYSQL_URL),$(MYSQL_READY)) ## the tests on SQLite and PostgreSQL, and on MariaDB if TEST_MYSQL_URL is set
	@$(BIN)/python -m tests $(ARGS)

faults: $(READY) ## kill, stop and cut off workers and databases under load, for minutes; ARGS="kill-worker --seconds 60"
	@$(BIN)/python -m tests.faults $(ARGS)
	@$(if $(ARGS),,$(BIN)/python -m tests.faults --database sqlite)

bench: $(READY) ## measure the queue (and django-tasks-db, if it is installed), and print a table; ARGS="--quick"
	@$(BIN)/python -m benchmarks $(ARGS)

lint: $(READY) ## style, types, layers, and that no migration is missing
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo > $(VENV)/layers.log || { cat $(VENV)/layers.log; exit 1; }
	@DJANGO_SETTINGS_MODULE=tests.settings $(BIN)/python -m django makemigrations --check --dry-run -v 0 || \
	  { echo "A migration is missing: run makemigrations and commit what it writes."; exit 1; }
	@echo "lint: all good"

clean: ## remove .venv, caches and what the demo left
	@rm -rf $(VENV) .demo .artifacts .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml
	@test -x $(BIN)/python || { echo "Making $(VENV) ..."; $(PYTHON) -m venv $(VENV); }
	@echo "Installing what pyproject.toml asks for ..."
	@$(INSTALL) --editable '.[dev]'
	@touch $@

$(MYSQL_READY): $(READY)
	@$(INSTALL) --editable '.[mysql]'
	@touch $@
