"""What a coordinator decides: records to persist, replies to send, replies that must wait.

`replies` do not depend on the decision's records, so they are sent at once. A reply that depends on
them is held with both outcomes, and the shard picks one when the records are committed or failed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response


class CoordinatorRecord(NamedTuple):
    """One record of a coordinator's partition; without a value it is a tombstone."""

    key: bytes
    value: bytes | None


class Reply(NamedTuple):
    """The response to the request with `token`."""

    token: object
    response: Response


class HeldReply(NamedTuple):
    """A response that depends on whether the decision's records are committed."""

    token: object
    committed: Response
    failed: Callable[[ErrorCode], Response]


class ProducerIdAndEpoch(NamedTuple):
    """The producer whose transaction records belong to."""

    producer_id: int
    producer_epoch: int


@dataclass(slots=True)
class CoordinatorDecision:
    records: list[CoordinatorRecord] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    held: list[HeldReply] = field(default_factory=list)
    producer: ProducerIdAndEpoch | None = None
    """If set, the records are part of a transaction of this producer."""

    def reply(self, token: object, response: Response) -> None:
        self.replies.append(Reply(token, response))

    def hold(
        self, token: object, *, committed: Response, failed: Callable[[ErrorCode], Response]
    ) -> None:
        """Reply once the records are committed, or at once when there are none."""
        if self.records:
            self.held.append(HeldReply(token, committed, failed))
        else:
            self.reply(token, committed)
