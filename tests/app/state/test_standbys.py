"""Standby copies: whoever takes over has read the changelog before."""

import asyncio
import logging
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import barnabas
from barnabas import App, State
from barnabas.errors import InvalidArgument, UnknownGroup
from tests.app.state.counting import changelog
from tests.support.wait import wait_until_async

ROOT = str(Path(__file__).parents[3])
STATE = 20_000  # values
SOURCE = """
import logging, sys
import barnabas
from tests.app.state.test_standbys import service

logging.basicConfig(level="INFO", stream=sys.stderr)
service("{servers}", "{topic}", "{folder}").run()
"""
both = pytest.mark.parametrize("exactly_once", [False, True])


def service(servers: str, topic: str, folder: str, *, standby: bool = True) -> App:
    app = App(servers, state_directory=folder)

    @app.handler(
        topic,
        group=f"g-{topic}",
        name="count",
        standby=standby,
        exactly_once=True,
        produces=f"{topic}-out",
    )
    def count(number: str, key: str, total: State[int]) -> str:
        return f"{key}={total.update(lambda old: old + 1, 0)}"

    return app


def fill_state(servers: str, topic: str) -> None:
    """A state that is large as compared with what is written later."""
    with barnabas.Admin(servers) as admin:
        admin.create_topic(changelog(topic), partitions=4, configs={"cleanup.policy": "compact"})
    with barnabas.Producer(servers) as producer:
        for number in range(STATE):
            producer.send(
                changelog(topic), (41).to_bytes(8), key=b"s%d" % number, partition=number % 4
            )


def restored(records: list[logging.LogRecord], what: str) -> dict[int, int]:
    """Offsets that were read, by partition."""
    found: dict[int, int] = {}
    for each in records:
        match = re.search(
            rf"{what} of partition (\d): restored ([\d,]+) offsets?", each.getMessage()
        )
        if match:
            number = int(match[1])
            found[number] = found.get(number, 0) + int(match[2].replace(",", ""))
    return found


def test_a_takeover_does_not_read_the_changelog_from_the_beginning(
    servers: str, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The other worker is killed."""
    caplog.set_level("INFO", "barnabas.app")
    fill_state(servers, topic)
    with barnabas.Admin(servers) as admin:
        admin.create_topic(f"{topic}-out", partitions=1)
    script = tmp_path / "service.py"
    script.write_text(SOURCE.format(servers=servers, topic=topic, folder=tmp_path / "1"))
    app = service(servers, topic, str(tmp_path / "2"))

    async def main() -> None:
        with (tmp_path / "log").open("wb") as log:
            other = subprocess.Popen(
                [sys.executable, script], stderr=log, env={**os.environ, "PYTHONPATH": ROOT}
            )
        try:
            await wait_until_async(has_member, log_of)  # so that it has the partitions first
            async with app.started() as running:
                (states,) = running.states
                assert states.standbys is not None
                await wait_until_async(lambda: len(states.standbys.partitions) == 2, log_of)
                assert sum(restored(caplog.records, "standby copy").values()) >= STATE // 2
                await asyncio.to_thread(send, 8)
                await asyncio.to_thread(until_handled, 8)
                caplog.clear()
                other.send_signal(signal.SIGKILL)
                await asyncio.to_thread(send, 8)
                await asyncio.to_thread(until_handled, 16)
                assert len(app.handlers) == 1
        finally:
            other.kill()
            other.wait()

    def has_member() -> bool:
        with suppress(UnknownGroup), barnabas.Admin(servers) as admin:
            return admin.describe_group(f"g-{topic}").state == "Stable"
        return False

    def log_of() -> str:
        return (tmp_path / "log").read_text()[-3000:]

    def send(count: int) -> None:
        with barnabas.Producer(servers) as producer:
            for number in range(count):
                producer.send(topic, b"1", key=b"s%d" % number, partition=number % 4)

    seen: list[str] = []

    def until_handled(count: int) -> None:
        with barnabas.Consumer(servers, f"{topic}-out", value_format="str") as consumer:
            del seen[:]
            while len(seen) < count:
                seen.extend(each.value for each in consumer.poll(0.2))

    asyncio.run(main())
    assert sorted(seen) == sorted(f"s{key}={count}" for key in range(8) for count in (42, 43))
    read = restored(caplog.records, "state")
    assert sum(read.values()) < STATE // 100, read


def test_a_copy_needs_a_state() -> None:
    def handle(number: str) -> None: ...

    with pytest.raises(InvalidArgument, match="standby=True"):
        App().handler("a", group="g", standby=True)(handle)
