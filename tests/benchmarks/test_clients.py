"""The comparison of clients: each does what is measured, and promises are held to the others."""

from collections.abc import Iterator
from importlib import import_module

import pytest

from benchmarks.bench import AIOKAFKA, CONFLUENT, KAFKA_PYTHON, TOPIC, Row
from benchmarks.brokers import BARNABAS, Broker, Contender
from benchmarks.clients import LIBRARIES, fill, measure_one, records_in, rows_of, stored
from benchmarks.libraries.run import (
    CONSUME,
    CONSUME_BATCHED,
    CONSUME_TABLES,
    PRODUCE,
    PRODUCE_BATCHED,
    Run,
)

_COUNT = 500
_WORKS = [(library.module, work) for library in LIBRARIES for work in library.works]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Contender(BARNABAS).running(TOPIC, 3) as broker:
        fill(broker, stored(_COUNT), 100, _COUNT)
        yield broker


@pytest.mark.parametrize(("module", "work"), _WORKS)
def test_every_client_does_what_is_measured(
    broker: Broker, module: str, work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "group", f"bench-{module}-{work}")
    topic = stored(_COUNT) if work.startswith("consume") else TOPIC
    before = records_in(broker, TOPIC)
    run = Run(broker.bootstrap, topic, 100, _COUNT)
    import_module(f"benchmarks.libraries.{module}").WORK[work](run)
    assert run.seconds > 0
    assert run.cpu_s > 0
    assert records_in(broker, TOPIC) - before == (0 if topic != TOPIC else _COUNT + 1)


@pytest.mark.long
def test_a_client_is_measured_in_a_process_of_its_own(broker: Broker) -> None:
    for work in (PRODUCE, CONSUME_BATCHED):
        assert min(measure_one(broker, "confluent", work, 100, _COUNT)) > 0


def test_promises_are_held_to_each_rival() -> None:
    aims = {CONFLUENT: 1.0, AIOKAFKA: 3.0}
    values = {BARNABAS: 10.0, CONFLUENT: 10.0, AIOKAFKA: 4.0}
    row = Row("", "k/s", values, at_least_ratios=aims)
    assert row.ratio == 1.0
    assert row.missed == [AIOKAFKA]
    assert row.kept is False
    assert Row("", "k/s", values | {AIOKAFKA: 3.0}, at_least_ratios=aims).kept is True


def test_tables_are_held_to_the_best_that_others_have() -> None:
    found = {
        PRODUCE: {BARNABAS: 1.0, CONFLUENT: 2.0},
        PRODUCE_BATCHED: {CONFLUENT: 3.0},
        CONSUME: {BARNABAS: 9.0, CONFLUENT: 2.0, KAFKA_PYTHON: 1.0},
        CONSUME_BATCHED: {BARNABAS: 9.0, CONFLUENT: 4.0},
        CONSUME_TABLES: {BARNABAS: 20.0},
    }
    rows = {row.what: row for row in rows_of(found, "100 B", "k/s")}
    assert rows["Produce, 100 B"].kept is False
    assert rows["Produce, lists, 100 B"].kept is None
    assert rows["Consume, tables, 100 B"].values == {
        BARNABAS: 20.0,
        CONFLUENT: 4.0,
        KAFKA_PYTHON: 1.0,
    }
    assert rows["Consume, tables, 100 B"].kept is True
