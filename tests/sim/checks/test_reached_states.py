"""States of a partition are named by how its metadata changes."""

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.sim.checks.reached_states import ReachedStates
from barnabas.sim.process.simulator import Simulator


def _image(**changes: Any) -> Any:
    partition = {
        "index": 0,
        "leader": 1,
        "isr": [1, 2],
        "elr": [],
        "replicas": [1, 2, 3],
        "adding_replicas": [],
        "removing_replicas": [],
    } | changes
    topic = SimpleNamespace(topic_id=b"t" * 16, partitions=[SimpleNamespace(**partition)])
    return SimpleNamespace(topics={"t": topic})


def _reached(*states: dict[str, Any]) -> set[str]:
    simulator = Simulator(1)
    reached = ReachedStates(simulator)
    for state in states:
        reached.learn(_image(**state))
    return set(simulator.reached)


@pytest.mark.parametrize(
    ("states", "name"),
    [
        ([{}, {"leader": 2, "isr": [2]}], "election: in-sync replica"),
        ([{}, {"leader": 3, "isr": [3]}], "election: unclean"),
        (
            [{"isr": [1], "elr": [2]}, {"leader": 2, "isr": [2]}],
            "election: eligible leader replica",
        ),
        ([{"leader": 2}, {"leader": 1}], "election: preferred leader"),
        ([{}, {"leader": -1}], "election: none, the partition has no leader"),
        ([{"leader": -1}, {"leader": 2}], "election: in-sync replica that is back"),
        ([{}, {"isr": [1]}], "in-sync set: shrinks"),
        ([{}, {"isr": [1, 2, 3]}], "in-sync set: grows"),
        ([{}, {"elr": [3]}], "in-sync set: below the minimum, with eligible leaders"),
        ([{}, {"adding_replicas": [4]}], "reassignment: begins"),
        ([{"removing_replicas": [3]}, {"replicas": [1, 2]}], "reassignment: ends"),
        ([{"removing_replicas": [3]}, {}], "reassignment: cancelled"),
    ],
)
def test_a_change_is_named(states: list[dict[str, Any]], name: str) -> None:
    assert name in _reached(*states)


def test_what_does_not_change_reaches_nothing() -> None:
    assert _reached({}, {}) == set()
