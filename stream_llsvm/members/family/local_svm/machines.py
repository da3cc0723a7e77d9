"""The machines of a neighbourhood, one for each class in it, and what they say of the query."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, kernel
from stream_llsvm.members.family.local_svm.smo import fill_gram, solve, value_of
from stream_llsvm.members.family.local_svm.window import LABEL, WORTH

#: What a machine says where all near are of another class: b = -1, w = 0 solves LAS(1) exactly.
NOBODY = -1.0


class Problem(NamedTuple):
    """What a neighbourhood's machines are to be: the kernel, its width, C, and how exact."""

    kernel: int
    sigma: Real
    cost: Real
    tolerance: Real


class Solved(NamedTuple):
    """A neighbourhood's machines: a class code each, coefficients by neighbour, biases."""

    codes: Array
    coefficients: Array
    biases: Array


@kernel
def unanimous(near: Array, facts: Array) -> bool:
    """Whether all have one label: then there is nothing to solve, LAS section III."""
    for j in range(1, near.size):  # noqa: SIM110  # numba knows no generators
        if facts[LABEL, near[j]] != facts[LABEL, near[0]]:
            return False
    return True


@kernel
def gather(seen: Array, places: Array, points: Array) -> None:
    """Copy the records in these places together."""
    for i in range(seen.shape[0]):
        values = seen[i]
        for j in range(places.size):
            points[j, i] = values[places[j]]


@kernel
def classes_of(places: Array, facts: Array, classes: Array) -> int:
    """List the classes that are there, in the order of their codes; returns how many."""
    n = 0
    for j in range(places.size):
        code = int(facts[LABEL, places[j]])
        p = n
        while p > 0 and classes[p - 1] > code:
            p -= 1
        if p > 0 and classes[p - 1] == code:
            continue
        for q in range(n, p, -1):
            classes[q] = classes[q - 1]
        classes[p] = code
        n += 1
    return n


@kernel
def solve_all(
    problem: Problem, points: Array, places: Array, facts: Array, gram: Array, work: Array,
    n_classes: int, solved: Solved,
) -> Real:  # fmt: skip
    """Solve each class against the rest, LAS section III; returns the kernel's 1 / sigma^2.

    One against the rest as LAS has it: one gram matrix serves all of them, a class that is not
    near costs nothing, and a query's scores are as many as its classes. Of two classes the machine
    of one is that of the other, negated.
    """
    n = places.size
    y, most, gradient = work[0], work[1], work[2]
    coefficients, biases = solved.coefficients, solved.biases
    precision = fill_gram(points[:n], problem.kernel, problem.sigma, gram[:n, :n])
    for j in range(n):
        most[j] = problem.cost * facts[WORTH, places[j]]
    for m in range(n_classes):
        if m == 0 and n_classes == 2:
            continue
        for j in range(n):
            y[j] = 1.0 if facts[LABEL, places[j]] == solved.codes[m] else -1.0
        biases[m] = solve(
            gram[:n, :n], y[:n], most[:n], problem.tolerance, coefficients[m, :n], gradient[:n]
        )
    if n_classes == 2:
        biases[0] = -biases[1]
        for j in range(n):
            coefficients[0, j] = -coefficients[1, j]
    return precision


@kernel
def answer(
    kind: int, x: Array, points: Array, solved: Solved, n_classes: int, values: Array,
    pulls: Array, out: Array,
) -> None:  # fmt: skip
    """Fill out with the machines' values, pulls with what each neighbour adds to the greatest."""
    classes, coefficients, biases = solved.codes[:n_classes], solved.coefficients, solved.biases
    precision = biases[biases.size - 1]
    n = pulls.size
    for j in range(n):
        values[j] = value_of(kind, precision, x, points[j])
    out[:] = NOBODY
    best, greatest = 0, -np.inf
    for m in range(classes.size):
        total = biases[m]
        for j in range(n):
            total += coefficients[m, j] * values[j]
        if out.size > 1:
            out[classes[m]] = total
        elif classes[m] == 1:
            out[0] = total
        if total > greatest:
            best, greatest = m, total
    for j in range(n):
        pulls[j] = coefficients[best, j] * values[j]
