"""What a rule asks of a run's metrics: the same here, in the run, and in Prometheus.

An expression has one value, or none where there is nothing to say, as an instant vector without
labels of its own. `Expression.of` tells it from what was seen of a run, `Expression.promql` writes
it down for Prometheus. A comparison that holds has the value of its left side, else none.
"""

from __future__ import annotations

import abc
import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from operator import add, ge, gt, lt, mul, sub

PREFIX = "stream_llsvm_"
#: Metrics at one moment: by name, without the prefix, the labels and value of each series.
Samples = Mapping[str, Iterable[tuple[Mapping[str, str], float]]]

_STALE = 300.0  # seconds after which a series that is not told any more is gone, as in Prometheus
_KEPT = 1_000  # moments


class Seen:
    """What was seen of a run's metrics: now, and so far back as some expressions ask for.

    Parameters
    ----------
    expressions
        What will be asked.

    """

    def __init__(self, expressions: Iterable[Expression]) -> None:
        parts = [part for one in expressions for part in one.parts()]
        self._series = list(dict.fromkeys(one for one in parts if isinstance(one, Metric)))
        self._longest = max((part.reach for part in parts), default=0.0) + _STALE
        self._times: deque[float] = deque()
        self._values: deque[list[float | None]] = deque()

    @property
    def now(self) -> float:
        """When the metrics were taken last."""
        return self._times[-1]

    def take(self, now: float, samples: Samples) -> None:
        """Take what the metrics are now; moments that nobody asks for any more are forgotten."""
        if len(self._times) > 1 and now - self._times[-2] < self._longest / _KEPT:
            self._times.pop()  # the newest, which is nearly as old as this one
            self._values.pop()
        self._times.append(now)
        self._values.append([one.among(samples) for one in self._series])
        while self._times[0] < now - self._longest:
            self._times.popleft()
            self._values.popleft()

    def value(self, series: Metric, ago: float) -> float | None:
        """Return what a series was so many seconds ago; None if it was not."""
        at = self._times[-1] - ago
        place = bisect_right(self._times, at) - 1
        if place < 0 or self._times[place] < at - _STALE:
            return None
        return self._values[place][self._series.index(series)]

    def window(self, series: Metric, seconds: float) -> list[float]:
        """Return what a series was in the last so many seconds, oldest first."""
        column, begin = self._series.index(series), self._times[-1] - seconds
        rows = zip(self._times, self._values, strict=True)
        found = (row[column] for time, row in rows if time >= begin)
        return [value for value in found if value is not None]


class Expression(abc.ABC):
    """Something that has a value, or none."""

    reach = 0.0  # how many seconds back it looks

    @abc.abstractmethod
    def of(self, seen: Seen) -> float | None:
        """Return its value now."""

    @abc.abstractmethod
    def promql(self) -> str:
        """Return it as Prometheus writes it."""

    def parts(self) -> Iterator[Expression]:
        """Yield it, and all that it is made of."""
        yield self

    def __add__(self, other: Expression | float) -> Expression:
        return Binary("+", self, _expression(other))

    def __sub__(self, other: Expression | float) -> Expression:
        return Binary("-", self, _expression(other))

    def __mul__(self, other: Expression | float) -> Expression:
        return Binary("*", self, _expression(other))

    def __truediv__(self, other: Expression | float) -> Expression:
        return Binary("/", self, _expression(other))

    def __gt__(self, other: Expression | float) -> Expression:
        return Binary(">", self, _expression(other))

    def __ge__(self, other: Expression | float) -> Expression:
        return Binary(">=", self, _expression(other))

    def __lt__(self, other: Expression | float) -> Expression:
        return Binary("<", self, _expression(other))

    def equals(self, other: float) -> Expression:
        """Return what has this value where it is that number."""
        return Binary("==", self, _expression(other))

    def __and__(self, other: Expression) -> Expression:
        return Binary("and", self, other)

    def __or__(self, other: Expression) -> Expression:
        return Binary("or", self, other)

    def unless(self, other: Expression) -> Expression:
        """Return what has this value where the other has none."""
        return Binary("unless", self, other)


@dataclass(frozen=True, eq=True)
class Number(Expression):
    """A number that is always the same."""

    value: float

    def of(self, seen: Seen) -> float:
        """Return it."""
        return self.value

    def promql(self) -> str:
        """Return it."""
        return f"{self.value:g}"


@dataclass(frozen=True, eq=True)
class Now(Expression):
    """The time, in seconds since 1970."""

    def of(self, seen: Seen) -> float:
        """Return it."""
        return seen.now

    def promql(self) -> str:
        """Return the function of that name."""
        return "time()"


@dataclass(frozen=True, eq=True)
class Metric(Expression):
    """The sum of a metric's series, or of those with some labels.

    Attributes
    ----------
    name
        The metric, without the prefix.
    labels
        Labels that a series must have.
    over
        Labels that series differ in.

    """

    name: str
    labels: tuple[tuple[str, str], ...] = ()
    over: tuple[str, ...] = ()

    def among(self, samples: Samples) -> float | None:
        """Return its value among these."""
        found = [
            value
            for labels, value in samples.get(self.name, ())
            if all(labels.get(name) == wanted for name, wanted in self.labels)
        ]
        return sum(found) if found else None

    def of(self, seen: Seen) -> float | None:
        """Return its value now."""
        return seen.value(self, 0.0)

    def selector(self) -> str:
        """Return the series that are summed."""
        inside = ",".join(f'{name}="{value}"' for name, value in self.labels)
        return f"{PREFIX}{self.name}{{{inside}}}" if inside else PREFIX + self.name

    def summed(self, what: str) -> str:
        """Return the sum of what is made of each series, with no labels but those of the run."""
        gone = ", ".join([*(name for name, _ in self.labels), *self.over])
        return f"sum without ({gone}) ({what})" if gone else what

    def promql(self) -> str:
        """Return the sum."""
        return self.summed(self.selector())


@dataclass(frozen=True, eq=True)
class Earlier(Expression):
    """What a metric was some seconds ago."""

    metric: Metric
    reach: float

    def of(self, seen: Seen) -> float | None:
        """Return its value then."""
        return seen.value(self.metric, self.reach)

    def promql(self) -> str:
        """Return it with an offset."""
        return self.metric.summed(f"{self.metric.selector()} offset {duration(self.reach)}")

    def parts(self) -> Iterator[Expression]:
        """Yield it, and the metric."""
        yield self
        yield self.metric


@dataclass(frozen=True, eq=True)
class Increase(Expression):
    """By how much a counter has risen in the last seconds; it may have begun anew meanwhile.

    Prometheus makes a little more of it, as if it had been seen for the whole time. So it is used
    where that does not matter: as a share of another, or if it is above nothing.
    """

    metric: Metric
    reach: float

    def of(self, seen: Seen) -> float | None:
        """Return it; None of less than two moments."""
        values = seen.window(self.metric, self.reach)
        if len(values) < 2:
            return None
        return sum(
            after - before if after >= before else after for before, after in pairwise(values)
        )

    def promql(self) -> str:
        """Return it as the function of that name."""
        return self.metric.summed(f"increase({self.metric.selector()}[{duration(self.reach)}])")

    def parts(self) -> Iterator[Expression]:
        """Yield it, and the metric."""
        yield self
        yield self.metric


@dataclass(frozen=True, eq=True)
class Vanished(Expression):
    """A metric that was told in the last seconds, and is not any more."""

    metric: Metric
    reach: float

    def of(self, seen: Seen) -> float | None:
        """Return what it was last."""
        if seen.value(self.metric, 0.0) is not None:
            return None
        values = seen.window(self.metric, self.reach)
        return values[-1] if values else None

    def promql(self) -> str:
        """Return that it was there, and is not."""
        name = self.metric.selector()
        return f"last_over_time({name}[{duration(self.reach)}]) unless {name}"

    def parts(self) -> Iterator[Expression]:
        """Yield it, and the metric."""
        yield self
        yield self.metric


def _over_nothing(value: float) -> float:
    """Return what floats make of a division by zero."""
    return math.copysign(math.inf, value) if abs(value) > 0 else math.nan


_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "/": lambda a, b: a / b if b else _over_nothing(a),
}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": gt,
    ">=": ge,
    "<": lt,
    "==": lambda a, b: a == b,
}


@dataclass(frozen=True, eq=True)
class Binary(Expression):
    """Two expressions, and what is made of them."""

    operator: str
    left: Expression
    right: Expression

    def of(self, seen: Seen) -> float | None:
        """Return its value now."""
        left, right = self.left.of(seen), self.right.of(seen)
        if self.operator == "and":
            return None if right is None else left
        if self.operator == "or":
            return right if left is None else left
        if self.operator == "unless":
            return left if right is None else None
        if left is None or right is None:
            return None
        if self.operator in _COMPARISONS:
            return left if _COMPARISONS[self.operator](left, right) else None
        return _ARITHMETIC[self.operator](left, right)

    def promql(self) -> str:
        """Return both, in brackets where they are made of others."""
        left, right = (
            f"({one.promql()})" if isinstance(one, Binary | Vanished) else one.promql()
            for one in (self.left, self.right)
        )
        return f"{left} {self.operator} {right}"

    def parts(self) -> Iterator[Expression]:
        """Yield it, and all that both are made of."""
        yield self
        yield from self.left.parts()
        yield from self.right.parts()


def _expression(given: Expression | float) -> Expression:
    return given if isinstance(given, Expression) else Number(float(given))


def metric(name: str, *over: str, **labels: str) -> Metric:
    """Return the sum of a metric's series that have these labels; they differ in the others.

    Examples
    --------
    >>> lag = metric("lag_records", "topic", "partition")
    >>> (lag / metric("rate_records") > 60).promql()
    '(sum without (topic, partition) (stream_llsvm_lag_records) / stream_llsvm_rate_records) > 60'
    >>> metric("state", state="failed").promql()
    'sum without (state) (stream_llsvm_state{state="failed"})'

    """
    return Metric(name, tuple(sorted(labels.items())), over)


def duration(seconds: float) -> str:
    """Return a time as Prometheus writes it.

    Examples
    --------
    >>> duration(90), duration(600), duration(0)
    ('90s', '10m', '0s')

    """
    whole = int(seconds)
    return f"{whole // 60}m" if whole and whole % 60 == 0 else f"{whole}s"
