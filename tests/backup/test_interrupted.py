"""Backups and restores that are killed, or interrupted, and continued."""

import signal
import subprocess
from pathlib import Path

import pytest

import barnabas
from tests.backup.support import COMMAND, Source, backup, environment, records
from tests.support.wait import LIMIT_S, wait_until

RATE = ("--rate", "100000")
"""The eight partitions of these tests take several seconds then."""


def start(bootstrap: str, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*COMMAND, *arguments],
        env=environment(bootstrap),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def fill(source: Source, topic: str) -> None:
    with barnabas.Producer(source.bootstrap) as producer:
        for each in range(8 * 60):
            producer.send(topic, b"%d" % each + bytes(2_000), partition=each % 8)


def begin_and_stop(source: Source, number: signal.Signals) -> int:
    """Begin to make a point, and stop when some files are there; how many bytes they have."""

    def found() -> list[Path]:
        return list(Path(source.place).rglob("*.batches"))

    before = len(found())
    process = start(
        source.bootstrap, "create", source.place, "--topic", f"{source.prefix}.*", *RATE
    )
    try:
        wait_until(lambda: len(found()) >= before + 2)
        process.send_signal(number)
        process.wait(LIMIT_S)
    finally:
        process.kill()
        process.wait()
    return sum(each.stat().st_size for each in found())


@pytest.mark.long
def test_a_killed_run_spoils_nothing(source: Source, target: str) -> None:
    topic = source.topic("orders", 8)
    source.send(topic, range(80), 8)
    source.create()
    before = source.records(topic)
    fill(source, topic)
    begin_and_stop(source, signal.SIGKILL)
    assert "1 point" in backup("verify", source.place).stderr
    source.restore(target, "--prefix", "before.")
    assert records(target, f"before.{topic}") == before
    source.create()
    assert "all sound" in backup("verify", source.place).stderr
    source.restore(target, "--prefix", "after.", "--allow-existing")
    assert records(target, f"after.{topic}") == source.records(topic)


def test_an_interrupted_run_is_continued(source: Source, target: str) -> None:
    topic = source.topic("orders", 8)
    fill(source, topic)
    copied = begin_and_stop(source, signal.SIGINT)
    done = source.create()
    assert copied > 0
    assert done["copied_bytes"] < done["bytes"]
    assert not (Path(source.place) / "partial.json").exists()
    source.restore(target)
    assert records(target, topic) == source.records(topic)


def test_a_killed_restore_is_continued(source: Source, target: str) -> None:
    topic = source.topic("orders", 8)
    fill(source, topic)
    source.create()

    def restored() -> int:
        with barnabas.Admin(target) as admin:
            return sum(admin.offsets(topic).values()) if topic in admin.topics() else 0

    for options in ((), ("--resume",)):
        before = restored()
        process = start(target, "restore", source.place, *RATE, *options)
        try:
            wait_until(lambda least=before: restored() > least + 30)
        finally:
            process.kill()
            process.wait()
    assert restored() < 480
    assert "--resume" in backup("restore", source.place, bootstrap=target, code=1).stderr
    source.restore(target, "--resume")
    assert records(target, topic) == source.records(topic)
    # What is complete stays as it is, and what was changed since is not taken for it.
    assert source.restore(target, "--resume")["records"] == 480
    with barnabas.Producer(target) as producer:
        producer.send(topic, b"another", partition=3)
    refused = backup("restore", source.place, "--resume", bootstrap=target, code=1).stderr
    assert f"partition {topic}-3 of the target does not hold" in refused
