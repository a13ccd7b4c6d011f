"""Changes of positions by an instance that dies in the middle: rows are never skipped."""

import asyncio
import json
from pathlib import Path

import pytest

from barnabas.aio.admin import Admin
from tests.connect.api_instance import ApiInstance, Crash, api_instance
from tests.support.broker import BrokerProcess

CONFIG = {"connector.class": "to_topic", "topics": "words", "topic": "loud"}
OFFSETS = "/connectors/loud/offsets"
OLD, NEW = {"words": {"0": 8, "1": 9}}, {"words": {"0": 5, "1": 9}}


def patch(partition: int, offset: int) -> dict[str, object]:
    where = {"kafka_topic": "words", "kafka_partition": partition}
    return {"offsets": [{"partition": where, "offset": {"kafka_offset": offset}}]}


def add_checkpoint(folder: Path, name: str, position: object) -> Path:
    checkpoint = folder / "checkpoints" / name / "checkpoint"
    for each, text in (("offsets", f"v1\n{{}}\n{json.dumps(position)}"), ("commits", "v1\n{}")):
        (checkpoint / each).mkdir(parents=True)
        (checkpoint / each / "0").write_text(text)
    (checkpoint.parent / "status.json").write_text("{}")
    return checkpoint


async def stopped(instance: ApiInstance) -> None:
    async with Admin(instance.context.settings.bootstrap) as admin:
        await admin.create_topic("words", partitions=2)
    body = {"name": "loud", "config": CONFIG, "initial_state": "STOPPED"}
    status, said = await instance.call("POST", "/connectors", body)
    assert status == 201, said


def start_of(instance: ApiInstance) -> object:
    return instance.context.definition("loud").start


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_a_change_that_was_cut_off_can_be_repeated(
    broker: BrokerProcess, tmp_path: Path, method: str
) -> None:
    body = patch(0, 5) if method == "PATCH" else None
    wanted = NEW if method == "PATCH" else None

    async def run() -> None:
        async with api_instance(broker.bootstrap, tmp_path) as instance:
            await stopped(instance)
            for point in ("before the reset", "after the reset"):
                assert (await instance.call("DELETE", OFFSETS))[0] == 200
                assert (await instance.call("PATCH", OFFSETS, patch(0, 70)))[0] == 200
                checkpoint = add_checkpoint(tmp_path, "loud", OLD)
                instance.runner.crashes = point
                with pytest.raises(Crash):
                    await instance.call(method, OFFSETS, body)
                assert start_of(instance) == wanted, "known before the checkpoint is gone"
                assert checkpoint.exists() == (point == "before the reset")
                instance.runner.crashes = None
                assert (await instance.call(method, OFFSETS, body))[0] == 200
                assert start_of(instance) == wanted
                assert not checkpoint.exists()

    asyncio.run(run())


def test_what_is_refused_changes_nothing(broker: BrokerProcess, tmp_path: Path) -> None:
    async def run() -> None:
        async with api_instance(broker.bootstrap, tmp_path) as instance:
            await stopped(instance)
            checkpoint = add_checkpoint(tmp_path, "loud", OLD)
            instance.runner.refuses = True
            assert await instance.call("PATCH", OFFSETS, patch(0, 5)) == (400, "no")
            assert start_of(instance) is None
            assert checkpoint.exists()

    asyncio.run(run())


def test_other_partitions_stay_where_they_are(broker: BrokerProcess, tmp_path: Path) -> None:
    async def run() -> None:
        async with api_instance(broker.bootstrap, tmp_path) as instance:
            await stopped(instance)
            await instance.call("PATCH", OFFSETS, patch(0, 5))
            await instance.call("PATCH", OFFSETS, patch(1, 7))
            assert start_of(instance) == {"words": {"0": 5, "1": 7}}
            # Two pipelines that read the same topic: none may skip what it has not read.
            add_checkpoint(tmp_path, "loud.a", {"words": {"0": 20, "1": 3}})
            add_checkpoint(tmp_path, "loud.b", {"words": {"0": 20, "1": 9}})
            await instance.call("PATCH", OFFSETS, patch(0, 6))
            assert start_of(instance) == {"words": {"0": 6, "1": 3}}

    asyncio.run(run())
