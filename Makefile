# Two commands do everything: `make demo` and `make test`. Each makes its own environment when it is missing.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# make reproduce SETS=prepared ONLY=table2,figure4 ARGS="--minutes 20": see docs/reproduce.md
SETS ?= prepared
RUN   = $(BIN)/python -m reproduction run $(if $(ONLY),--only $(ONLY)) $(ARGS)

.PHONY: help demo test docs check format reproduce reproduce-quick results lock sbom audit clean
help:
	@echo "make demo    train RNS and SAHC-NS on the embedded MovieLens set and show recommendations"
	@echo "make test    lint, types and all tests (what CI runs)"
	@echo "make docs    the documentation as a site, in build/site"
	@echo "make check   lint and types only"
	@echo "make format  rewrite the sources in the house format"
	@echo "make reproduce        run the paper's study on the sets in SETS=prepared, as far as it is missing"
	@echo "make reproduce-quick  a miniature of it on a CPU, in a few minutes"
	@echo "make lock    requirements.lock anew: what serves, but torch, with the hashes of its files"
	@echo "make sbom    what is installed, as CycloneDX, in build/sbom.json"
	@echo "make audit   known weaknesses of what is pinned"
	@echo "make results          rebuild the study's report and pages from the results that are there"

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("sahcns needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (once, about a minute) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

demo: $(READY)
	@$(BIN)/python examples/demo.py

check: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@MYPY_NUM_WORKERS=2 $(BIN)/mypy

test: check
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadgroup

docs: $(READY)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

reproduce: $(READY)
	@$(RUN) $(SETS)

reproduce-quick: $(READY)
	@$(RUN) --quick

results: $(READY)
	@$(BIN)/python -m reproduction pages --docs docs

# Tools for the chain of supply have an environment of their own. Which build of torch is taken is for the user to say.
CHAIN := build/chain/bin
$(CHAIN)/uv:
	@$(PYTHON) -m venv build/chain
	@$(CHAIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.8' 'cyclonedx-bom>=7' 'pip-audit>=2.7'

lock: $(CHAIN)/uv
	@echo 'torch; python_version < "3"' > build/without-torch.txt
	@$(CHAIN)/uv pip compile pyproject.toml --extra serve --override build/without-torch.txt --constraint constraints.txt \
	  --universal --generate-hashes --no-annotate --no-header --quiet --output-file requirements.lock > /dev/null

sbom: $(READY) $(CHAIN)/uv
	@$(CHAIN)/cyclonedx-py environment $(VENV) --pyproject pyproject.toml --output-file build/sbom.json

audit: $(CHAIN)/uv
	@$(CHAIN)/pip-audit --disable-pip --no-deps --requirement constraints.txt --progress-spinner off --strict

format: $(READY)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
