"""Rules of consumer groups of the newer protocol broken, one at a time."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.consumer import heartbeat, reconciliation
from barnabas.groups.consumer.group import ConsumerGroup
from barnabas.groups.consumer.reconciliation import reconcile
from barnabas.groups.modern.assignment import CurrentAssignment
from barnabas.groups.modern.group import ModernGroup
from barnabas.sim import run
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response
from tests.sim.variant import Variant


def _assign_at_once(*arguments: Any, **options: Any) -> CurrentAssignment:
    return reconcile(*arguments, **(options | {"owner_of": lambda *_: None}))


def _answer_at_once(
    _self: ModernGroup[Any],
    decision: CoordinatorDecision,
    token: object,
    response: Response,
    _failed: Callable[[ErrorCode], Response],
) -> None:
    decision.reply(token, response)


def _touch_briefly(self: ModernGroup[Any], member_id: str, now_ms: int) -> None:
    self.sessions[member_id] = now_ms + self.session_timeout_of(member_id) // 2


def _variant(*patches: Any, emphasis: str | None = None) -> Variant:
    """With such a group in every run."""
    return Variant([*patches, patch.object(run, "_CONSUMER_GROUPS", 1.0)], emphasis)


VARIANTS: dict[str, Variant] = {
    "assign a partition that another member owns": _variant(
        patch.object(heartbeat, "reconcile", _assign_at_once)
    ),
    "free a partition before its owner gave it up": _variant(
        patch.object(reconciliation, "_owns_any", lambda *_: False)
    ),
    "take commits of any member epoch": _variant(
        patch.object(ConsumerGroup, "check_commit", lambda *_: ErrorCode.NONE),
        emphasis="network",
    ),
    "answer heartbeats before they are stored": _variant(
        patch.object(ModernGroup, "answer", _answer_at_once), emphasis="kills"
    ),
    "end sessions of members too early": _variant(
        patch.object(ModernGroup, "touch", _touch_briefly), emphasis="pauses"
    ),
    "forget sessions of members at a new coordinator": _variant(
        patch.object(ModernGroup, "_restart_sessions", lambda *_: None), emphasis="kills"
    ),
}
