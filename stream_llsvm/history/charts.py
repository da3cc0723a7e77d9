"""Charts over time as SVG: lines, marks for what happened, and nothing that needs a network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from html import escape
from typing import NamedTuple

_WIDTH, _HEIGHT = 900, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 12, 26
_POINTS = 800
_COLORS = 8  # that the style sheet has
_MARKS = 300
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


class Line(NamedTuple):
    """A line: its name, and its value at each time; None where there is none."""

    name: str
    values: Sequence[float | None]


class Mark(NamedTuple):
    """Something that happened at a time: what kind of thing, and what."""

    time: float
    kind: str
    text: str


class Chart(NamedTuple):
    """Lines over the same times.

    Attributes
    ----------
    title
        What it shows.
    times
        When, in seconds since 1970, ascending.
    lines
        The lines.
    percent
        Whether values are shares.
    gap
        Seconds without a value after which a line is broken.

    """

    title: str
    times: Sequence[float]
    lines: Sequence[Line]
    percent: bool = False
    gap: float = 180.0


def svg(chart: Chart, begin: float, end: float, marks: Sequence[Mark] = ()) -> str:
    """Return a chart of a time.

    Examples
    --------
    >>> drawn = svg(Chart("Rate", [0.0, 60.0], [Line("rate", [1.0, 3.0])]), 0.0, 60.0)
    >>> drawn.count("<polyline"), "http" in drawn
    (1, False)

    """
    thinned = _thinned(chart)
    known = [v for line in thinned.lines for v in line.values if v is not None]
    ticks = _ticks(min(known, default=0.0), max(known, default=1.0))
    low, high = ticks[0], ticks[-1]
    end = max(end, begin + 1)

    def x(time: float) -> float:
        return _LEFT + (time - begin) / (end - begin) * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _TOP + (high - value) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(_said(thinned))}">'
    ]
    for tick in ticks:
        at = f"{y(tick):.1f}"
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at}" y2="{at}"/>'
        )
        parts.append(
            f'<text class="y" x="{_LEFT - 6}" y="{at}">{_number(tick, chart.percent)}</text>'
        )
    form = "%H:%M" if end - begin < 86_400 else "%d %b %H:%M" if end - begin < 8e5 else "%d %b %Y"
    for i in range(6):
        time = begin + (end - begin) * i / 5
        words = f"{datetime.fromtimestamp(time):{form}}"
        anchor = "start" if i == 0 else "end" if i == 5 else "middle"
        where = f'x="{x(time):.1f}" y="{_HEIGHT - 6}" text-anchor="{anchor}"'
        parts.append(f'<text class="x" {where}>{words}</text>')
    for mark in marks[-_MARKS:]:
        if begin <= mark.time <= end:
            at = f"{x(mark.time):.1f}"
            parts.append(
                f'<line class="mark {escape(mark.kind)}" x1="{at}" x2="{at}" y1="{_TOP}" '
                f'y2="{_HEIGHT - _BOTTOM}"><title>{escape(mark.text)}</title></line>'
            )
    for i, line in enumerate(thinned.lines):
        for piece in _pieces(thinned, line):
            points = " ".join(f"{x(t):.1f},{y(v):.1f}" for t, v in piece)
            shape = "polyline" if len(piece) > 1 else "circle"
            if shape == "circle":
                (t, v) = piece[0]
                where = f'cx="{x(t):.1f}" cy="{y(v):.1f}" r="1.5"'
            else:
                where = f'points="{points}"'
            parts.append(f'<{shape} class="line c{i % _COLORS}" {where}/>')
    return "".join([*parts, "</svg>"])


def legend(chart: Chart) -> str:
    """Return the names of a chart's lines, with the last value of each."""
    items = []
    for i, line in enumerate(chart.lines):
        known = [v for v in line.values if v is not None]
        last = _number(known[-1], chart.percent, fine=True) if known else "-"
        items.append(
            f'<li><span class="key c{i % _COLORS}"></span>{escape(line.name)} <b>{last}</b></li>'
        )
    return f'<ul class="legend">{"".join(items)}</ul>'


def _said(chart: Chart) -> str:
    """Return a chart in words, for those who do not see it."""
    words = []
    for line in chart.lines:
        known = [v for v in line.values if v is not None]
        if known:
            span = [
                _number(v, chart.percent, fine=True) for v in (min(known), max(known), known[-1])
            ]
            words.append(f"{line.name} between {span[0]} and {span[1]}, last {span[2]}")
    return f"{chart.title}: {'; '.join(words) or 'nothing is known'}"


def _pieces(chart: Chart, line: Line) -> list[list[tuple[float, float]]]:
    """Return a line in the pieces between its gaps."""
    pieces: list[list[tuple[float, float]]] = []
    before = -math.inf
    for time, value in zip(chart.times, line.values, strict=True):
        if value is None:
            continue
        if time - before > chart.gap:
            pieces.append([])
        pieces[-1].append((time, value))
        before = time
    return pieces


def _thinned(chart: Chart) -> Chart:
    """Return a chart with as many points as can be seen: the means of what lies between."""
    step = -(-len(chart.times) // _POINTS)
    if step <= 1:
        return chart
    starts = range(0, len(chart.times), step)
    lines = [
        Line(one.name, [_mean(one.values[i : i + step]) for i in starts]) for one in chart.lines
    ]
    times = [chart.times[i] for i in starts]
    return chart._replace(times=times, lines=lines, gap=chart.gap * step)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else None


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers from at most the lowest to at least the highest.

    Examples
    --------
    >>> _ticks(0.81, 0.93)
    [0.8, 0.85, 0.9, 0.95]

    """
    if not high > low:
        margin = abs(low) / 2 or 1.0
        low, high = low - margin if low else 0.0, high + margin
    raw = (high - low) / 4
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * one for one in _STEPS if size * one >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def _number(value: float, percent: bool, *, fine: bool = False) -> str:
    if percent:
        return f"{value:.1%}" if fine else _share(value)
    return f"{value:,.5g}" if abs(value) < 1e5 else f"{value:,.0f}"


def _share(value: float) -> str:
    """Return a tick that is a share.

    Examples
    --------
    >>> _share(0.5), _share(0.975)
    ('50%', '97.5%')

    """
    return f"{100 * value:.4g}%"
