"""How property tests draw their examples: the same in every run, or at random to find new ones."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers


def load_profiles() -> None:
    """Draw the same examples on every machine and day; ``--hypothesis-profile=fuzz`` draws others.

    Neither keeps what it found: a failing example belongs into the test, as an ``@example``.
    """
    # No deadline: the first call of a kernel compiles it. A slow machine is no fault of a test.
    steady = settings(
        deadline=None,
        database=None,
        print_blob=False,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.register_profile("fixed", steady, derandomize=True)
    settings.register_profile("fuzz", steady, derandomize=False)
    settings.load_profile("fixed")
    # Some values are drawn from the constants of all sources loaded so far. Those depend on which
    # tests ran before, and a seed alone would not repeat a failure.
    pytest.MonkeyPatch().setattr(
        providers, "is_local_module_file", lambda file: False, raising=False
    )
