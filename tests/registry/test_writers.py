"""Several instances: who writes, and what is kept when one is killed."""

import signal
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import pytest

from barnabas.sync.admin import Admin
from barnabas.sync.consumer import Consumer
from barnabas.sync.producer import Producer
from tests.registry.memory_registry import MemoryRegistry
from tests.registry.registry_process import MakeRegistry, RegistryProcess, record
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

A = record("a")
TAKEOVER_S = 2.0


def test_fifty_clients_that_register_one_schema_get_one_id(make_registry: MakeRegistry) -> None:
    instances = [make_registry() for _ in range(3)]
    with ThreadPoolExecutor(50) as pool:
        calls = [
            pool.submit(instances[number % 3].register, f"s{number % 2}", A) for number in range(50)
        ]
        assert {each.result() for each in calls} == {1}
    assert [each.writes for each in instances].count(True) == 1
    for each in instances:
        assert each.get("/subjects/s0/versions") == [1]


def test_a_client_sees_its_change_on_the_instance_that_it_asked(
    make_registry: MakeRegistry,
) -> None:
    writer, other = make_registry(), make_registry()
    writer.register("s", A)
    for number in range(10):
        other.register(f"t{number}", A)
        assert other.get(f"/subjects/t{number}/versions") == [1]
        assert writer.get(f"/subjects/t{number}/versions") == [1]
    assert writer.writes
    assert not other.writes


def test_an_instance_looks_in_the_log_before_it_says_not_found(
    make_registry: MakeRegistry,
) -> None:
    writer, other = make_registry(), make_registry()
    for number in range(20):
        schema_id = writer.register("s", record(*(f"f{each}" for each in range(number + 1))))
        assert other.call("GET", f"/schemas/ids/{schema_id}").status == 200


def test_a_writer_that_is_killed_is_replaced_soon_and_nothing_is_lost(
    make_registry: MakeRegistry,
) -> None:
    instances = [make_registry() for _ in range(3)]
    instances[0].register("s", A)
    ids = {"s": 1}
    for number in range(2):
        writer = next(each for each in instances if each.writes)
        instances.remove(writer)
        writer.kill()
        began = monotonic()
        for each in instances:
            subject = f"t{number}-{instances.index(each)}"
            ids[subject] = each.register(subject, record("a", subject.replace("-", "_")))
        assert monotonic() - began < TAKEOVER_S
    assert sorted(ids.values()) == [1, 2, 3, 4]
    for subject, schema_id in ids.items():
        assert instances[0].get(f"/schemas/ids/{schema_id}/subjects") == [subject]


def test_a_writer_that_stands_still_is_fenced_for_good(make_registry: MakeRegistry) -> None:
    stopped, other = make_registry(), make_registry()
    stopped.register("s", A)
    stopped.process.send_signal(signal.SIGSTOP)
    assert other.register("t", record("b")) == 2
    stopped.process.send_signal(signal.SIGCONT)
    assert stopped.register("u", record("c")) == 3
    wait_until(lambda: other.writes and not stopped.writes)


def test_a_fenced_writer_gives_no_id(registry: RegistryProcess, broker: BrokerProcess) -> None:
    """Another process takes the fence and writes, and the instance does not hear of it."""
    assert registry.register("s", A) == 1
    with Producer(broker.bootstrap, transactional_id="schema-registry-_schemas") as rival:
        model = MemoryRegistry()
        model.register("x", record("x"))
        model.register("y", record("y"))
        with rival.transaction():
            for each in model.log:
                rival.send("_schemas", each.value, each.key)
    assert registry.register("t", record("t")) == 3


def test_a_restart_and_compaction_keep_everything(
    make_registry: MakeRegistry, broker: BrokerProcess
) -> None:
    first = make_registry()
    with Admin(broker.bootstrap) as admin:
        admin.set_configs(
            {
                "segment.ms": 50,
                "min.cleanable.dirty.ratio": 0,
                "max.compaction.lag.ms": 50,
                "delete.retention.ms": 0,
            },
            topic="_schemas",
        )
    for number in range(20):
        first.register("s", record(*(f"f{each}" for each in range(number + 1))))
        first.call("PUT", "/config/s", {"compatibility": "FULL" if number % 2 else "NONE"})
    first.call("DELETE", "/subjects/s/versions/20")
    first.call("DELETE", "/subjects/s/versions/20?permanent=true")

    def settings_left() -> int:
        first.call("PUT", "/config/other", {"compatibility": "NONE"})
        with Consumer(broker.bootstrap) as consumer:
            consumer.assign(dict.fromkeys(broker_partitions(broker), 0))
            found = []
            while not any(b'"other"' in (each.key or b"") for each in found[-1:]):
                found += consumer.poll(1.0)
        return sum(b'CONFIG","subject":"s"' in (each.key or b"") for each in found)

    wait_until(lambda: settings_left() == 1, timeout_s=60)
    assert first.end() == 143
    again = make_registry()
    assert again.get("/subjects/s/versions") == list(range(1, 20))
    assert again.get("/config/s") == {"compatibilityLevel": "FULL"}
    assert again.register("t", record("t")) == 21


def broker_partitions(broker: BrokerProcess) -> list[object]:
    with Admin(broker.bootstrap) as admin:
        return [*admin.offsets("_schemas")]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_end_is_quiet_and_leaves_no_writer(
    make_registry: MakeRegistry, number: signal.Signals, code: int
) -> None:
    registry = make_registry()
    registry.register("s", A)
    assert registry.end(number) == code
    assert "Traceback" not in registry.said()
    assert make_registry().register("t", A) == 1


def test_reads_are_answered_while_the_broker_is_down(
    registry: RegistryProcess, broker: BrokerProcess
) -> None:
    registry.register("s", A)
    broker.kill()
    assert registry.get("/subjects/s/versions") == [1]
    assert registry.call("GET", "/schemas/ids/9").status == 404
    broker.start()
    assert registry.register("t", record("b")) == 2
