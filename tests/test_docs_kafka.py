"""Pages that need a broker: what they show runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.connectors.kafka.support import Kafka
from tests.test_docs_code import PAGES, told


@pytest.mark.parametrize("page", [one for one in PAGES if "kafka" in one.name], ids=str)
def test_a_page_with_a_broker_does_as_it_says(page: Path, tmp_path: Path, kafka: Kafka) -> None:
    assert told(page, tmp_path, {"localhost:9092": kafka.servers}) > 0
