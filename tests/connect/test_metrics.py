"""`/metrics` of an instance, parsed by the client of Prometheus."""

import asyncio
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from barnabas.connect.rest.metrics import merged
from barnabas.spark.pipelines.run.batch_durations import batch_durations
from barnabas.spark.pipelines.run.metrics import exposition
from barnabas.spark.pipelines.run.supervised_query import status_of_bad_definition
from tests.connect.api_instance import api_instance
from tests.connect.test_concurrent_requests import CREATE
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until_async


def values(text: str) -> dict[tuple[str, ...], float]:
    """By name and the values of labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_the_leader_tells_the_states_of_connectors(broker: BrokerProcess, tmp_path: Path) -> None:
    async def run() -> None:
        async with api_instance(broker.bootstrap, tmp_path) as instance:
            found = values(await instance.text("/metrics"))
            assert found["barnabas_connect_leader",] == 1
            assert found["kafka_connect_worker_connector_count",] == 0
            assert (await instance.call("POST", "/connectors", CREATE))[0] == 201
            found = values(await instance.text("/metrics"))
            assert found["kafka_connect_worker_connector_count",] == 1
            states = {
                key[2]: value
                for key, value in found.items()
                if key[:2] == ("kafka_connect_connector_status", "loud")
            }
            assert sum(states.values()) == states["unassigned"] == 1
            instance.context.leadership.resign()
            await wait_until_async(lambda: not instance.context.leadership.is_leader)
            found = values(await instance.text("/metrics"))
            assert found["barnabas_connect_leader",] == 0
            assert ("kafka_connect_worker_connector_count",) not in found

    asyncio.run(run())


def test_pipelines_of_several_drivers_are_one_text() -> None:
    texts = [
        exposition([(status_of_bad_definition(name, "no"), batch_durations())], 0.0)
        for name in ("one", "two")
    ]
    whole = merged(texts).decode()
    assert whole.count("# TYPE barnabas_pipeline_state gauge") == 1
    found = values(whole)
    for name in ("one", "two"):
        assert found["barnabas_pipeline_state", name, "failed"] == 1
    assert found == values(texts[0]) | values(texts[1])
