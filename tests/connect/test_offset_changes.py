"""Changes of positions by an instance that dies in the middle: rows are never skipped."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.aio.admin import Admin
from barnabas.connect import runner
from tests.connect.api_instance import ApiInstance, Crash, api_instance
from tests.support.broker import BrokerProcess

CONFIG = {"connector.class": "to_topic", "topics": "words", "topic": "loud"}
OF_A_FILE = {"connector.class": "pipeline", "pipeline.file": "two.py"}
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


async def stopped(instance: ApiInstance, config: dict[str, str] = CONFIG) -> None:
    async with Admin(instance.context.settings.bootstrap) as admin:
        await admin.create_topic("words", partitions=2)
    body = {"name": "loud", "config": config, "initial_state": "STOPPED"}
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


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("before the reset", marks=pytest.mark.long),
        "between two",
        pytest.param("after the reset", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_a_change_that_was_cut_off_is_finished_by_the_next_leader(
    broker: BrokerProcess, tmp_path: Path, method: str, point: str
) -> None:
    """Half of its pipelines must not begin elsewhere while the others go on."""
    body = patch(0, 5) if method == "PATCH" else None
    (tmp_path / "two.py").write_text("")

    async def run() -> None:
        async with api_instance(broker.bootstrap, tmp_path) as instance:
            await stopped(instance, OF_A_FILE)
            checkpoints = [add_checkpoint(tmp_path, f"loud.{each}", OLD) for each in ("a", "b")]
            instance.runner.crashes = point
            with pytest.raises(Crash):
                await instance.call(method, OFFSETS, body)
        async with api_instance(broker.bootstrap, tmp_path) as instance:
            assert instance.context.definition("loud").is_reset_pending
            await instance.runner.finish_resets(instance.context.leadership.write)
            assert not any(each.exists() for each in checkpoints)
            assert start_of(instance) == (NEW if method == "PATCH" else None)
            assert not instance.context.definition("loud").is_reset_pending
            again = add_checkpoint(tmp_path, "loud.a", NEW)
            await instance.runner.finish_resets(instance.context.leadership.write)
            assert again.exists(), "once"

    asyncio.run(run())


def test_a_reset_that_fails_is_tried_again_later(
    broker: BrokerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(runner, "lease_time", lambda: now)

    async def run() -> None:
        nonlocal now
        async with api_instance(broker.bootstrap, tmp_path) as instance:
            await stopped(instance)
            instance.runner.crashes = "before the reset"
            with pytest.raises(Crash):
                await instance.call("DELETE", OFFSETS)
            instance.runner.crashes = "with an error"
            await instance.runner.finish_resets(instance.context.leadership.write)
            instance.runner.crashes = None
            await instance.runner.finish_resets(instance.context.leadership.write)
            definition = instance.context.definition("loud")
            assert definition.is_reset_pending, "not at once"
            status = instance.runner._status("loud", replace(definition, target="STARTED"), None)
            assert status.trace == "its offsets can't be changed: the disk is full"
            now += 11
            await instance.runner.finish_resets(instance.context.leadership.write)
            assert not instance.context.definition("loud").is_reset_pending

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
    (tmp_path / "two.py").write_text("")

    async def run() -> None:
        async with api_instance(broker.bootstrap, tmp_path) as instance:
            await stopped(instance, OF_A_FILE)
            await instance.call("PATCH", OFFSETS, patch(0, 5))
            await instance.call("PATCH", OFFSETS, patch(1, 7))
            assert start_of(instance) == {"words": {"0": 5, "1": 7}}
            # Two pipelines that read the same topic: none may skip what it has not read.
            add_checkpoint(tmp_path, "loud.a", {"words": {"0": 20, "1": 3}})
            add_checkpoint(tmp_path, "loud.b", {"words": {"0": 20, "1": 9}})
            await instance.call("PATCH", OFFSETS, patch(0, 6))
            assert start_of(instance) == {"words": {"0": 6, "1": 3}}

    asyncio.run(run())


def test_a_connector_has_not_the_name_of_another_one_s_pipeline(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    (tmp_path / "two.py").write_text("")

    async def run() -> None:
        async with api_instance(broker.bootstrap, tmp_path) as instance:
            await stopped(instance)
            inner = {"name": "loud.a", "config": CONFIG}
            assert (await instance.call("POST", "/connectors", inner))[0] == 201
            add_checkpoint(tmp_path, "loud.a", OLD)
            assert await instance.call("GET", OFFSETS) == (200, {"offsets": []})
            status, said = await instance.call("PUT", "/connectors/loud/config", OF_A_FILE)
            assert status == 400
            assert "loud.a has the name of a pipeline in the file of connector loud" in said

    asyncio.run(run())
