"""Rules about changes of voters broken, one at a time; here voters come and go in every run."""

from typing import Any
from unittest.mock import patch

from barnabas.broker.quorum.state_machine import StateMachine
from barnabas.raft.voters import VoterSet
from barnabas.sim import run
from tests.sim.variant import Variant


def _variant(*patches: Any, emphasis: str | None = None) -> Variant:
    return Variant([*patches, patch.object(run, "_VOTER_CHANGES", 1.0)], emphasis)


def _with_the_first_voters(self: StateMachine, voters: VoterSet, now_ms: int) -> bytes:
    return original_snapshot(self, self.__dict__.setdefault("first_voters", voters), now_ms)


original_snapshot = StateMachine.take_snapshot


VARIANTS: dict[str, Variant] = {
    "leave changes of voters out of snapshots": _variant(
        patch.object(StateMachine, "take_snapshot", _with_the_first_voters),
        patch.object(run, "_METADATA_SNAPSHOTS", 1.0),
    ),
}
