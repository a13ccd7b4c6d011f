"""The client library in the simulation: it takes part, and repeatably."""

import pytest

from barnabas.records.message import Message
from barnabas.sim import run
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
