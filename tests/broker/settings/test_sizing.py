"""A node in a small container takes limits that fit it, and says so."""

from barnabas.broker.runtime.container_limits import NO_LIMITS, ContainerLimits
from barnabas.broker.runtime.node_threads import NodeThreads
from barnabas.broker.server import fit_container
from barnabas.broker.settings.config import BrokerConfig

MB = 1 << 20


def test_a_small_container_gets_small_limits() -> None:
    properties, said = fit_container({"num.partitions": "3"}, ContainerLimits(256 * MB, 0.5))
    config = BrokerConfig(properties)
    assert config.connections.max_queued_request_bytes == 48 * MB
    assert config.connections.max_queued_response_bytes == 48 * MB
    assert config.cleaner.dedupe_buffer_bytes == (192 * MB) // 10
    assert config.connections.max_request_bytes == 192 * MB * 15 // 100
    assert config.topic_creation.num_partitions == 3
    assert said is not None
    assert said.startswith("this container has 256 MB of memory and 0.5 CPUs; chosen to fit: ")
    assert f"queued.max.request.bytes={48 * MB}" in said
    assert said.endswith("1 thread for compression")


def test_what_is_set_is_kept() -> None:
    given = {"queued.max.request.bytes": str(400 * MB)}
    properties, said = fit_container(given, ContainerLimits(256 * MB, None))
    assert properties["queued.max.request.bytes"] == str(400 * MB)
    assert "kept as set: queued.max.request.bytes" in (said or "")


def test_the_smallest_container_still_gets_something() -> None:
    properties, _ = fit_container({}, ContainerLimits(32 * MB, None))
    assert BrokerConfig(properties).connections.max_queued_request_bytes == 8 * MB


def test_a_large_container_keeps_the_usual_limits_and_says_so() -> None:
    properties, said = fit_container({}, ContainerLimits(64_000 * MB, 4.0))
    assert properties == {}
    assert said == "this container has 64000 MB of memory and 4 CPUs; the usual limits fit"


def test_nodes_of_one_container_share_it() -> None:
    properties, said = fit_container({}, ContainerLimits(768 * MB, None), 3)
    assert properties["queued.max.request.bytes"] == str(48 * MB)
    assert "each of 3 nodes in this container has 256 MB" in (said or "")


def test_no_limits_and_enough_memory_are_not_worth_a_line() -> None:
    given = {
        name: str(8 * MB)
        for name in (
            "queued.max.request.bytes",
            "queued.max.response.bytes",
            "log.cleaner.dedupe.buffer.size",
            "socket.request.max.bytes",
        )
    }
    assert fit_container(given, NO_LIMITS) == (given, None)


def test_few_cpus_leave_the_event_loop_its_own() -> None:
    pools: dict[str, int] = {}

    def pool(size: int, name: str) -> None:
        pools[name] = size

    for cpus, threads in ((None, 2), (4.0, 2), (0.5, 1)):
        NodeThreads(pool, lambda: None, cpus)  # type: ignore[arg-type, return-value]
        assert pools["compress"] == threads
