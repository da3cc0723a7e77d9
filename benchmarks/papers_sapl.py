"""LL Tables 1 and 2, SAPL Table 2: locally linear SVMs learned in ten passes."""

from __future__ import annotations

from collections import Counter
from typing import Any

from papers_rows import Row, Task, body
from papers_search import (
    ANCHORS,
    DEFAULTS,
    HELD_OUT,
    HINGE,
    INVERSE,
    LONGER,
    PASSES,
    SQUARED,
    Candidate,
    of_digits,
    schedule,
    tuned,
)
from timing import Section

#: Candidates of each method. LL section 4 codes by the inverse distance.
LLSVM = (
    DEFAULTS,
    HINGE,
    schedule(1e-3),
    schedule(1e-4),
    schedule(1e-5),
    schedule(1e-4, "inverse_distance"),
    schedule(1e-5, "inverse_distance"),
)
SAPL = (DEFAULTS, HINGE, SQUARED, INVERSE, LONGER, schedule(1e-3), schedule(1e-4))
LCC = (DEFAULTS, HINGE, SQUARED, Candidate("reconstruction", {"coding": "reconstruction"}))
LCC_SAPL = (DEFAULTS, HINGE, SQUARED, Candidate("1 / distance", {"coding": "inverse_distance"}))

#: SAPL Table 2's rows: this project's learner, what it is given, its candidates.
METHODS: dict[str, tuple[str, dict[str, Any], tuple[Candidate, ...]]] = {
    "LLSVM": ("llsvm", {}, LLSVM),
    "LLC-SAPL": ("sapl", {}, SAPL),
    "LCC+SVM": ("lcc", {"supervised": False}, LCC),
    "LLC-SAPLlcc": ("lcc", {"supervised": True}, LCC_SAPL),
}
SAPL_TABLE = {
    "Banana": {"LLSVM": 89.71, "LLC-SAPL": 90.82, "LCC+SVM": 89.47, "LLC-SAPLlcc": 90.15},
    "MAGIC04": {"LLSVM": 85.19, "LLC-SAPL": 86.53, "LCC+SVM": 80.24, "LLC-SAPLlcc": 83.75},
    "MNIST": {"LLSVM": 96.50, "LLC-SAPL": 97.67, "LCC+SVM": 80.35, "LLC-SAPLlcc": 88.27},
    "LETTER": {"LLSVM": 95.03, "LLC-SAPL": 97.27, "LCC+SVM": 77.54, "LLC-SAPLlcc": 86.36},
}
#: LL gives errors: 1.85 % in its Table 1, 5.32 % in its Table 2.
LL_TABLES = {"MNIST": 100 - 1.85, "LETTER": 100 - 5.32}

#: What was tried once where ours is lower, on the first seed. Printed only if it still is.
_OPTIMUM = (
    "The optimum of LL(10) itself for k-means anchors, by `stream_llsvm.reference.solve`, gives "
    "90.6 to 93.7 with softmax codes (lambda 1e-4 to 1e-6) and 91.6 with the inverse distance "
    "(1e-5): it is not the online steps."
)
WHY = {
    ("MNIST", "LL-SVM"): "With all 60,000 digits 97.48.",
    ("LETTER", "LL-SVM"): _OPTIMUM,
    ("LETTER", "LLSVM"): _OPTIMUM,
    ("LETTER", "LLC-SAPL"): (
        "On the first seed the defaults know 99.8 % of the records that they learned and 96.1 % of "
        "the others, after 30 passes 100.0 % and 95.9 %: it is not that they learn too slowly."
    ),
    ("LETTER", "LCC+SVM"): (
        "LIBLINEAR on such codes (k-means, softmax of four sharpnesses, C = 1 and 100) reaches "
        "72.0 at most: it is not the online steps."
    ),
    ("LETTER", "LLC-SAPLlcc"): "The supervised step brings 9 points on the first seed.",
    ("Banana", "LLC-SAPL"): (
        "Which third is asked matters too: on the split of a public re-implementation "
        "(`banana_llsvm_split`) the defaults have 90.4, the mean of twenty seeds."
    ),
}

PROTOCOL = (
    f"m = {ANCHORS['n_anchors']}, k = {ANCHORS['n_neighbors']}, k-means anchors, {PASSES} passes "
    "by `warm_start` unless said otherwise. The papers do not give lambda: settings are chosen on "
    f"one part in {HELD_OUT} of the training part, held out, for each split; then all of it is "
    "learned. MNIST is learned with the defaults, nothing chosen. "
)


def ll_tables(task: Task) -> Section:
    """Return LL Tables 1 and 2."""
    rows = [
        Row(
            "MNIST",
            "LL-SVM",
            LL_TABLES["MNIST"],
            [of_digits("llsvm", task.data, _digits(task), False, task.kept)],
            "defaults, pixels / 255",
            WHY.get(("MNIST", "LL-SVM"), ""),
        ),
        _row(task, "LETTER", "LL-SVM", LL_TABLES["LETTER"], "LLSVM"),
    ]
    protocol = PROTOCOL + (
        "The paper's error is subtracted from 100. It learned 40,000 of the training digits and "
        f"scored the 10,000 test digits; here {_digits(task):,} are learned. {_runs(task)} "
        "Absent from the data folder: USPS, Caltech-101 (LL Tables 2 and 3). The figure of LL on "
        "the number of anchors is a drawing without numbers."
    )
    return Section("LL Tables 1 and 2", body(rows, protocol))


def sapl_table(task: Task) -> Section:
    """Return SAPL Table 2."""
    rows = []
    for name, figures in SAPL_TABLE.items():
        for method, quoted in figures.items():
            if name == "MNIST":
                learner, fixed, _ = METHODS[method]
                rows_of = _digits(task, 60_000)
                ours = [of_digits(learner, task.data, rows_of, True, task.kept, **fixed)]
                why = WHY.get((name, method), "")
                rows.append(Row(name, method, quoted, ours, "defaults", why))
            else:
                rows.append(_row(task, name, method, quoted, method))
    protocol = PROTOCOL + (
        f"Banana and MAGIC04: two thirds are learned, one third asked, drawn at random. "
        f"{_runs(task)} Where the paper starts from LIBLINEAR's solution, here all begins at zero; "
        "so 30 passes may be chosen for LLC-SAPL. Features have mean 0 and variance 1. Absent from "
        "the data folder: IJCNN, SKIN, CIFAR, RCV1, USPS, MNIST8m."
    )
    return Section("SAPL Table 2", body(rows, protocol))


def _row(task: Task, name: str, label: str, quoted: float, method: str) -> Row:
    learner, fixed, candidates = METHODS[method]
    found = [
        tuned(
            learner,
            task.data,
            name.lower(),
            seed,
            candidates[:1] if task.quick else candidates,
            task.kept,
            **ANCHORS,
            **fixed,
        )
        for seed in range(task.repeats)
    ]
    often = Counter(run.text for run in found).most_common()
    told = "; ".join(text if len(often) == 1 else f"{n}x {text}" for text, n in often)
    why = WHY.get((name, label), "")
    return Row(name, label, quoted, [run.accuracy for run in found], told, why)


def _digits(task: Task, most: int = 40_000) -> int:
    return 2_000 if task.quick else most


def _runs(task: Task) -> str:
    return f"Mean and standard deviation over seeds 0 to {task.repeats - 1}."
