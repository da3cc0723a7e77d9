"""Which fields hold times, and what a time becomes."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest

from stream_llsvm.records.boxes import time_of, unboxed
from stream_llsvm.records.times import says_when, time_of_object


@pytest.mark.parametrize(
    "name",
    [
        "timestamp", "ts", "time", "created_at", "event_time", "updated", "createdAt", "eventTime",
        "Timestamp", "TS", "payload.ts_ms", "date", "order-date", "purchase_timestamp_utc",
    ],
)  # fmt: skip
def test_fields_of_times(name: str) -> None:
    assert says_when(name)


@pytest.mark.parametrize(
    "name", ["lifetime", "timeout", "temperature", "parts", "time.zone", "time_left", "", 3, None]
)
def test_other_fields(name: object) -> None:
    assert not says_when(name)


@pytest.mark.parametrize(
    "value",
    [
        datetime.datetime(2026, 11, 19, 12, 30),
        datetime.datetime(
            2026, 11, 19, 12, 30, tzinfo=datetime.timezone(datetime.timedelta(0, 60))
        ),
        pd.Timestamp("2026-11-19 12:30", tz="Europe/Oslo"),
    ],
)
def test_the_hour_is_the_one_of_its_own_zone(value: datetime.datetime) -> None:
    assert time_of(unboxed(time_of_object(value))[1]) == (12.5, 3.0)


def test_a_date_is_a_time_at_midnight() -> None:
    assert time_of(unboxed(time_of_object(np.datetime64("2026-11-19").item()))[1]) == (0.0, 3.0)
