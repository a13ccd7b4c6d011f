"""The client library in the simulation: it takes part, repeatably, and its mistakes are found."""

import pytest

from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.client.consumer.eager_rebalancer import EagerRebalancer
from barnabas.records.message import Message
from barnabas.sim import run
from barnabas.sim.checks.history import Violation
from barnabas.sim.run import run_seed
from barnabas.sim.workloads import real_client

SEED = 1


@pytest.fixture(autouse=True)
def in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_REAL_CLIENT", 1.0)


def test_it_takes_part_and_the_same_seed_is_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Message] = []
    take = real_client._Member._take

    def counted(member: real_client._Member, message: Message) -> None:
        taken.append(message)
        take(member, message)

    monkeypatch.setattr(real_client._Member, "_take", counted)
    first = run_seed(SEED)
    assert any(message.value.startswith(b"real!") for message in taken)
    assert run_seed(SEED) == first


def test_a_message_before_its_partition_was_assigned_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin = EagerRebalancer._begin

    def begin_without_interruption(rebalancer: EagerRebalancer) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(DeliveryQueue, "interrupt", lambda _queue: None)
            begin(rebalancer)

    monkeypatch.setattr(EagerRebalancer, "_begin", begin_without_interruption)
    with pytest.raises(Violation, match=r"real-member-\d got t-\d@\d+, expected None"):  # noqa: PT012
        for seed in range(SEED, SEED + 10):
            run_seed(seed)
