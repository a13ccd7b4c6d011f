"""A mirror that is killed under load, and what groups are told after that."""

import contextlib
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import barnabas
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.mirror.flow import ClusterEnd
from tests.support.wait import LIMIT_S, wait_until

Ends = tuple[ClusterEnd, ClusterEnd]
RECORDS = 100_000
BURST = 25_000
BARNABAS = (sys.executable, "-m", "barnabas")


def _options(ends: Ends) -> list[str]:
    a, b = ends
    return [
        *("--from", f"{a.name}={a.bootstrap_servers}"),
        *("--to", f"{b.name}={b.bootstrap_servers}"),
    ]


def _start(ends: Ends, topic: str, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*BARNABAS, "mirror", "run", "--topics", topic, *_options(ends)],
        stderr=(folder / "stderr").open("ab"),
        cwd=folder,
    )


def _offsets_by_number(end: ClusterEnd, topic: str) -> dict[int, int]:
    found: dict[int, int] = {}
    with barnabas.Consumer(
        end.bootstrap_servers, topic, isolation="read_committed", start="earliest"
    ) as reader:
        wait_until(
            lambda: (
                found.update((int(each.value or b""), each.offset) for each in reader.poll(0.5))
                or len(found) == RECORDS
            )
        )
    return found


def _status(ends: Ends) -> dict[str, Any]:
    done = subprocess.run(
        [*BARNABAS, "mirror", "status", "--json", *_options(ends)],
        capture_output=True,
        timeout=LIMIT_S,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.timeout(600)
def test_offsets_are_translated_exactly_after_a_kill(
    ends: Ends, topic: str, tmp_path: Path
) -> None:
    """Killed while it copies, at a moment when nothing of the last second is stored yet."""
    a, b = ends
    there = f"{a.name}.{topic}"
    with barnabas.Admin(a.bootstrap_servers) as admin:
        admin.create_topic(topic, partitions=1)

    def copied() -> int:
        with barnabas.Admin(b.bootstrap_servers) as admin:
            return sum(admin.offsets(there).values()) if there in admin.topics() else 0

    def produce(numbers: range) -> None:
        with barnabas.Producer(a.bootstrap_servers) as producer:
            for each in numbers:
                producer.send(topic, b"%d" % each, partition=0)

    produce(range(1))
    mirror = _start(ends, topic, tmp_path)
    try:
        for start in range(0, RECORDS, BURST):
            wait_until(lambda least=start: copied() > least, (tmp_path / "stderr").read_text)
            burst = range(max(1, start), start + BURST)
            producing = threading.Thread(target=produce, args=(burst,))
            producing.start()
            wait_until(lambda least=start + BURST // 10: copied() > least)
            mirror.kill()
            mirror.wait()
            producing.join()
            mirror = _start(ends, topic, tmp_path)
        exact = _offsets_by_number(b, there)
        committed = {f"g{number}": number for number in range(2_500, RECORDS, 2_500)}
        with barnabas.Admin(a.bootstrap_servers) as admin:
            for group, number in committed.items():
                admin.set_group_offsets(group, {TopicPartition(topic, 0): number})

        def translated() -> dict[str, int]:
            return {each["group"]: each["translated"] for each in _status(ends)["groups"]}

        wanted = {group: exact[number] for group, number in committed.items()}
        wait_until(lambda: max(committed, key=lambda group: committed[group]) in translated())
        with contextlib.suppress(AssertionError):
            wait_until(lambda: translated() == wanted)
        found = translated()
        differences = {
            committed[group]: None if group not in found else wanted[group] - found[group]
            for group in wanted
        }
        assert differences == dict.fromkeys(differences, 0)
    finally:
        mirror.kill()
        mirror.wait()
