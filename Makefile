# Every target makes its own environment in .venv, once per pyproject.toml and version.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# One more than there are cores: many tests wait, for a process, a broker or a browser. At least
# two, so that a test which leans on another one's leftovers shows.
WORKERS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1) + 1)))

MINUTES ?= 10

.PHONY: help demo kafka kernels wheel test fuzz lint docs release bench clean data-given
.DELETE_ON_ERROR:

help:
	@echo "make demo              learn a stream that moves, live in the browser"
	@echo "make kafka             run a Kafka broker on this machine until Ctrl-C"
	@echo "make kernels           compile all kernels into the package, for a wheel to hold them"
	@echo "make wheel             the same, and build that wheel: one for this Python and processor"
	@echo "make test              lint, then every test and docstring example"
	@echo "make fuzz MINUTES=60   search at random for records that a property test does not hold for"
	@echo "make lint              style and types only"
	@echo "make docs              make the documentation site in build/docs/html"
	@echo "make release           build and check a release, and tag it; uploads nothing"
	@echo "make bench DATA=DIR    accuracy and speed over the npz files in DIR"
	@echo "make clean             remove .venv and everything built or cached"

# Compiling is a part of setting up: the page then moves as soon as it is open.
demo: $(VENV)/.ready-cli,dashboard
	@$(BIN)/python -c 'import stream_llsvm; stream_llsvm.CommitteeClassifier().learn_one({"x": 0.0}, True)'
	@$(BIN)/stream-llsvm demo || test $$? -eq 130  # Ctrl-C is how it ends

# Needs Java 17, Maven and openssl; nothing of Python.
kafka:
	@$(PYTHON) tools/kafka_broker.py

kernels: $(VENV)/.ready-test
	@$(BIN)/python tools/compile_kernels.py --ship

wheel: kernels
	@$(BIN)/python -m build --wheel

# What failed is run once more, alone, and that is told: many tests wait for processes, which a busy
# machine may keep from running for longer than a test waits. What fails twice has failed.
test: lint
	@$(BIN)/python -m pytest -n $(WORKERS) || { code=$$?; test $$code -eq 1 || exit $$code; \
		echo "Some tests failed beside others. They are run once more, alone:"; \
		$(BIN)/python -m pytest --last-failed --last-failed-no-failures none; }

fuzz: $(VENV)/.ready-test
	@$(BIN)/python tools/fuzz.py --minutes $(MINUTES) --workers $(WORKERS)

lint: $(VENV)/.ready-test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy

release: $(VENV)/.ready-test
	@$(BIN)/python tools/release.py

docs: $(VENV)/.ready-docs
	@$(BIN)/python tools/docs_site.py

# Roughly, in minutes on two slow cores: accuracy 2, the committee's 3, reliability 3, summary 20,
# river's table 30, delays 6, drift 8, early 6, shifts 30 (these seven mostly river's models), ablation 10,
# warm_start 1, speed 4, the committee's 6, local SVMs 10. benchmarks/capymoa_table.py needs CapyMOA
# and Java, and some hours.
bench: data-given $(VENV)/.ready-bench
	@$(BIN)/python benchmarks/accuracy.py --data "$(DATA)"
	@$(BIN)/python benchmarks/accuracy.py --data "$(DATA)" --learners committee,no-history \
		--section committee
	@$(BIN)/python benchmarks/accuracy.py --data "$(DATA)" --section family --rows 10000 \
		--orders 1 --learners committee,sapl,llsvm,mapped,lcc,csvm,l3svm,budget,local,additive,memory,ferns,trees,contexts --peers logreg \
		electricity banana magic04 keystroke segment phishing_stream letter
	@$(BIN)/python benchmarks/accuracy.py --data "$(DATA)" --learners sapl --peers logreg,arf \
		--section reliability banana magic04 keystroke segment
	@$(BIN)/python benchmarks/summary.py --data "$(DATA)"
	@$(BIN)/python benchmarks/river_table.py --data "$(DATA)"
	@for delay in 1 10 100 1000; do \
		$(BIN)/python benchmarks/accuracy.py --data "$(DATA)" --learners committee,sapl --peers arf \
			--rows 20000 --delay $$delay electricity covtype keystroke sea-abrupt || exit; done
	@$(BIN)/python benchmarks/drift.py
	@$(BIN)/python benchmarks/early.py --data "$(DATA)"
	@$(BIN)/python benchmarks/shifts.py --data "$(DATA)"
	@$(BIN)/python benchmarks/ablation.py --data "$(DATA)"
	@$(BIN)/python benchmarks/warm_start.py --data "$(DATA)"
	@$(BIN)/python benchmarks/speed.py --data "$(DATA)"
	@$(BIN)/python benchmarks/speed.py --data "$(DATA)" --learner committee
	@$(BIN)/python benchmarks/local_svm.py --data "$(DATA)"

# Asked before anything is installed.
data-given:
	@test -n "$(DATA)" || \
		{ echo "Say where the streams are: make bench DATA=folder/of/npz/files" >&2; exit 2; }

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	rm -rf stream_llsvm/kernels/shipped
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# One stamp for each set of extras: the demo need not wait for the test tools.
$(VENV)/.ready-%: pyproject.toml stream_llsvm/version.py $(VENV)/.made
	@echo "Installing stream_llsvm[$*] into $(VENV)"
	@$(PIP) install --editable ".[$*]"
	@touch $@

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "stream_llsvm needs Python 3.11 or newer; '$(PYTHON)' is not. Try: make PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@
