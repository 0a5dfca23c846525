# Everything runs in .venv. `make install` makes it, and so do the other targets when it is missing.
# `make help` lists the targets.

.DEFAULT_GOAL := help
PYTHON := .venv/bin/python
INSTALLED := .venv/.installed
TRUTH ?= ../shared/truth

# Tests start hundreds of processes. Where this is set each compiles all that it imports anew: 1.7 s of a core, not 0.9.
unexport PYTHONDONTWRITEBYTECODE

$(INSTALLED): requirements/dev.txt pyproject.toml scripts/install.sh
	@scripts/install.sh
	@touch $@

.PHONY: help install run test lint typecheck bench accuracy lock kernel generate soak fuzz examples clients chaos conformance fuzzparsers sbom audit

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*  ## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST)

install: $(INSTALLED)  ## make .venv from the locked requirements

run: $(INSTALLED)  ## serve on http://127.0.0.1:8080 (TALLYSTICK_HOST, TALLYSTICK_PORT)
	@exec .venv/bin/tallystick serve

test: $(INSTALLED)  ## run the tests, two at a time; ARGS="tests/api/test_app.py -k body" for some of them, one at a time
	@$(PYTHON) -m pytest $(or $(ARGS),-n 2 --dist worksteal)

lint: $(INSTALLED)  ## ruff
	@$(PYTHON) -m ruff check .

typecheck: $(INSTALLED)  ## mypy, strict
	@$(PYTHON) -m mypy

accuracy: $(INSTALLED)  ## count recorded requests and write the accuracy table: TRUTH=folder (with dev.jsonl.gz)
	@test -e "$(TRUTH)/dev.jsonl.gz" || { echo "no recorded requests in $(TRUTH): make accuracy TRUTH=folder" >&2; exit 2; }
	@$(PYTHON) -m scripts.accuracy --truth "$(TRUTH)" --write $(ARGS)

examples:  ## run the tests of examples/ in an environment of its own, with Ray
	@scripts/install.sh .venv-examples requirements/examples.txt
	@.venv-examples/bin/python -m pytest -q examples

clients: $(INSTALLED)  ## make typed clients of /openapi.json (TypeScript, Python) and use them; needs node and npm
	@scripts/install.sh .venv-clients requirements/clients.txt
	@$(PYTHON) -m tests.clients.check

lock: $(INSTALLED)  ## compile requirements/*.in into locks with hashes; ARGS=--upgrade for newer versions
	@scripts/lock.sh $(ARGS)

kernel:  ## compile the two kernels (C to WebAssembly); needs clang and lld
	@scripts/build_kernel.sh

generate: $(INSTALLED)  ## write the generated files of deploy/: .env.example, dashboards, the rules for Kubernetes
	@$(PYTHON) -m scripts.deploy_files $(ARGS)

bench: $(INSTALLED)  ## measure how fast it is on this machine, and write benchmarks/RESULTS.md; PARTS="rates start"
	@$(PYTHON) -m benchmarks $(PARTS)

soak: $(INSTALLED)  ## run a mixed load on two workers, and look for leaks of memory and files; SECONDS=600
	@$(PYTHON) -m benchmarks.soak $(or $(SECONDS),60)

chaos: $(INSTALLED)  ## break things under a load that is checked, and write OUT=deploy/RELIABILITY.md; PARTS="redis cluster"
	@$(PYTHON) -m tests.chaos $(if $(OUT),--output "$(OUT)") $(PARTS)

fuzz: $(INSTALLED)  ## compare the tokenizers with their references on random texts: SECONDS=600
	@$(PYTHON) -m scripts.fuzz_bpe_kernel --seconds $(or $(SECONDS),60)
	@$(PYTHON) -m scripts.fuzz_claude --seconds $(or $(SECONDS),60) $(ARGS)

conformance: $(INSTALLED)  ## call every operation of /openapi.json with schemathesis, as four callers: CASES=200 random ones each
	@$(PYTHON) -m tests.security.conformance --cases $(or $(CASES),200) $(ARGS)

fuzzparsers: $(INSTALLED)  ## send randomly changed bodies to every operation: SECONDS=600
	@$(PYTHON) -m tests.security.parser_fuzz --seconds $(or $(SECONDS),60) $(ARGS)

sbom: $(INSTALLED)  ## write the components of the service as CycloneDX JSON: OUT=build/sbom.cdx.json
	@$(PYTHON) -m scripts.sbom --output $(or $(OUT),build/sbom.cdx.json)

audit: $(INSTALLED)  ## compare the locked versions with an OSV export: OSV=all.zip
	@test -n "$(OSV)" || { echo "name the export: make audit OSV=all.zip (see SECURITY.md)" >&2; exit 2; }
	@$(PYTHON) -m scripts.audit "$(OSV)" $(ARGS)
