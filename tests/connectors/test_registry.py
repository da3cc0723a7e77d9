"""Connectors by scheme: what each address means, and what all of them together may be told."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import stream_llsvm.connectors
from stream_llsvm.connectors import Connector, registry
from stream_llsvm.connectors.registry import connector_of, connectors, scheme_of

CLI = Path(__file__).resolve().parents[2] / "stream_llsvm" / "cli"


@pytest.mark.parametrize(
    ("address", "scheme"),
    [
        ("a.csv", "file"),
        ("-", "file"),
        ("file:a.csv", "file"),
        ("FILE:a.csv", "file"),
        ("Kafka://a:9092/b", "kafka"),
        ("sqlite:a.db", "sqlite"),
        ("/data/kafka:2024.csv", "file"),
        ("at 10:30.csv", "file"),
        ("C:\\a.csv", "file"),
        ("log:2.jsonl", "file"),
        ("s3://bucket/a.csv", "s3"),
    ],
)
def test_schemes(address: str, scheme: str) -> None:
    assert scheme_of(address) == scheme


def test_an_unknown_scheme_says_which_there_are() -> None:
    with pytest.raises(ValueError, match="s3:// is not known; write a path, or one of file:path, "):
        connector_of("s3://bucket/a.csv")


@pytest.mark.parametrize("scheme", connectors())
def test_every_connector_says_what_it_is(scheme: str) -> None:
    one = connectors()[scheme]
    assert isinstance(one, Connector) and one.title
    assert connector_of(one.example) is one
    assert one.describe({"nothing": "known"}) is None
    for section in (one.source_options, one.sink_options, one.dead_letter_options):
        assert not set(section) & {*registry.FIELDS, "from", "to"}
        assert all(key.help for key in section.values() if key.flag)


def test_one_flag_means_one_thing() -> None:
    """Where two systems know an option of one name, its flag and its checks are the same."""
    seen: dict[str, tuple[object, ...]] = {}
    for one in connectors().values():
        for name, key in one.source_options.items():
            kind = (key.flag, key.help, key.kind.type, key.kind.metavar)
            assert seen.setdefault(name, kind) == kind


@pytest.mark.parametrize(
    ("position", "words"),
    [
        ({"file": 0, "path": "a.csv", "line": 1200, "offset": 3}, "behind line 1,200 of a.csv"),
        ({"file": 0, "path": "a.csv"}, "at the beginning of a.csv"),
        ({"file": 0, "path": "a.pq", "group": 2, "record": 17}, "behind record 17 of a.pq"),
        ({"wind": {"0": 3, "1": 9}}, "before wind/0@3, wind/1@9"),
        ({"table": "wind", "row": 40}, "behind row 40 of table wind"),
        ({"records": 3}, None),
    ],
)
def test_positions_in_words(position: dict[str, object], words: str | None) -> None:
    assert registry.describe(position) == words


def test_a_place_has_one_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    names = {f"{tmp_path}/a.csv", f"file:{tmp_path}/a.csv", f"file://{tmp_path}/b.csv"}
    assert len({str(connector_of(name).places(name)) for name in names}) == 1
    assert connector_of("-").places("-") == set()
    assert connector_of("kafka://a/b,c").places("kafka://a/b,c") == {"a/b", "a/c"}


def test_the_command_line_knows_no_system() -> None:
    for path in CLI.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"startswith\([^)]*(kafka|sqlite|file)", text, re.IGNORECASE), path
        assert "connectors.kafka" not in text and "connectors.file.s" not in text, path


def test_public_names_are_there_and_bring_nothing_before_they_are_asked_for() -> None:
    for name in stream_llsvm.connectors.__all__:
        assert getattr(stream_llsvm.connectors, name).__name__ == name or name == "Position"
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = stream_llsvm.connectors.Nothing
    code = (
        "from stream_llsvm.connectors import FileSource, KafkaSource, FileSink, KafkaSink\n"
        "import sys; print([m for m in ('kafka', 'pyarrow', 'sqlite3') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
