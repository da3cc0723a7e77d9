"""How far each model counts, beside running means that take all records one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_llsvm.members.pooling import Part, Parted, Rescale, Shares, add_up, mean_of

_AS_IT_IS = Rescale(np.ones(0), np.zeros(0), np.zeros(0))


def parted(weights: list[float], *, since: bool) -> Parted:
    """Return models whose parts hold nothing."""
    shares = np.array(weights) / np.sum(weights)
    shares = np.concatenate([[0.0], shares]) if since else shares
    parts = tuple(Part({}, float(weight), _AS_IT_IS) for weight in shares)
    return Parted(parts, since, len(parts) - 1)


def followed(mean: float, before: float, records: int, floor: float, told: float) -> float:
    """Return a running mean after so many records that all say the same."""
    for i in range(records):
        mean += max(floor, 1 / (2 + before + i)) * (told - mean)
    return mean


@pytest.mark.parametrize(("before", "records"), [(0, 50), (70, 50), (400, 300), (5_000, 1_000)])
@pytest.mark.parametrize("models", [2, 4])
def test_means_go_as_far_as_all_records_would_have_taken_them(
    before: int, records: int, models: int
) -> None:
    floor, base = 0.003, 1.0
    own = [followed(base, before, records, floor, 5.0) for _ in range(models)]
    seen = np.array([before, *[before + records] * models], dtype=float)
    shares = parted([1.0] * models, since=True).by_rows(seen, floor=floor)
    merged = float(mean_of(shares.means, [np.array(v) for v in (base, *own)]))
    wanted = followed(base, before, models * records, floor, 5.0)
    assert merged == pytest.approx(wanted, rel=2e-3)
    raw = float(mean_of(shares.raw, [np.array(v) for v in (base, *own)]))
    assert raw == pytest.approx(own[0])


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_raw_steps_go_farther_where_several_have_moved_a_row(power: float) -> None:
    models = parted([1, 1, 1, 1], since=True)
    seen = np.array([[10.0, 10, 10], [20, 20, 10], [20, 10, 10], [20, 10, 10], [20, 10, 10]])
    raw = models.by_rows(seen, power=power).raw
    np.testing.assert_allclose(raw[1:, 0], 4**power / 4)
    np.testing.assert_allclose(raw[:, 1], [0, 1, 0, 0, 0])  # who alone has moved it
    np.testing.assert_allclose(raw[:, 2], [1, 0, 0, 0, 0])  # nobody has: it is the base's
    np.testing.assert_allclose(raw.sum(axis=0), 1)


def test_without_a_base_both_are_means_by_weight_and_by_what_was_seen() -> None:
    shares = parted([3, 1], since=False).by_rows(np.array([[10.0, 0], [30, 0]]), 0.5, 0.003)
    for each in shares:
        np.testing.assert_allclose(each, [[0.5, 0.75], [0.5, 0.25]])


def test_counts_are_the_bases_and_what_each_has_added() -> None:
    models = parted([1, 5], since=True)
    amounts = [np.array([100.0, 7]), np.array([130.0, 7]), np.array([101.0, 9])]
    assert models.summed(amounts).tolist() == [131, 9]
    assert parted([1, 1], since=False).summed(amounts[1:]).tolist() == [115.5, 8]


def test_a_record_is_as_old_as_all_have_learned_meanwhile() -> None:
    clocks = parted([1, 1], since=True).clock([100.0, 110.0, 130.0])
    assert clocks[1](np.array([50.0, 100, 105, 110])).tolist() == [50, 100, 120, 140]
    assert clocks[2](np.array([130.0])).tolist() == [140]
    ages = parted([1, 1], since=False).clock([100.0, 120.0])
    assert [float(ages[0](np.array(90.0))), float(ages[1](np.array(110.0)))] == [100, 100]


def test_tables_are_added_up_as_the_shares_say() -> None:
    rng = np.random.default_rng(0)
    tables: list[Any] = [rng.normal(size=(6, 4)).astype(np.float32) for _ in range(3)]
    shares = Shares(*(rng.random((3, 6)) for _ in range(2)))
    out = np.empty((6, 4), dtype=np.float32)
    add_up(shares, tables, out, averaged=True)
    wanted = [mean_of(own, [table[:, half] for table in tables]) for own, half in
              zip(shares, (slice(0, 2), slice(2, 4)), strict=True)]  # fmt: skip
    np.testing.assert_allclose(out, np.concatenate(wanted, axis=1), rtol=1e-5, atol=1e-6)
    add_up(shares, tables, out, averaged=False)
    np.testing.assert_allclose(out, mean_of(shares.raw, tables), rtol=1e-5, atol=1e-6)
