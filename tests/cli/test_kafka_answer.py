"""``answer`` in a consumer group: partitions are dealt out, and go to others when one dies."""

from __future__ import annotations

from pathlib import Path

from tests.cli.pair import Run
from tests.cli.support import told, wait_for
from tests.cli.test_kafka_run import arguments, places, values
from tests.connectors.kafka.support import Kafka, committed


def test_members_of_a_group_answer_every_record(kafka: Kafka, tmp_path: Path) -> None:
    learned, asked, target = kafka.topic(), kafka.topic(4), kafka.topic()
    folder, sent = tmp_path / "published", values(400)
    kafka.send(learned, sent)
    told(*arguments(kafka, learned, "--max-records", 400, "--publish", folder))
    at = f"kafka://{kafka.servers}"
    given = ["answer", "--from-model", folder, "--from", f"{at}/{asked}", "--to", f"{at}/{target}"]
    members = [Run([*given, "--group", asked], tmp_path / f"{i}.log") for i in range(2)]

    def send(first: int) -> set[str]:
        for partition in range(4):
            kafka.send(asked, sent[first : first + 50], partition=partition)
        return {f"{asked}/{p}@{first + i}" for p in range(4) for i in range(50)}

    try:
        wanted = send(0)
        wait_for(lambda: committed(kafka, asked) == dict.fromkeys(range(4), 50))
        members[0].process.kill()
        wanted |= send(50)
        wait_for(lambda: wanted <= set(places(kafka, target)))
        members[1].process.terminate()  # it ends in order: what it answered is committed
        assert members[1].ended() == 0, members[1].said
        again = Run([*given, "--group", asked], tmp_path / "again.log")
        members.append(again)
        wanted |= send(100)
        wait_for(lambda: wanted <= set(places(kafka, target)))
        assert sorted(places(kafka, target)) == sorted(wanted)  # each once
        again.process.terminate()
        assert again.ended() == 0, again.said
    finally:
        for one in members:
            one.process.kill()
            one.process.wait()
