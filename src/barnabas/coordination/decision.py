"""What the coordinator decides: records to persist, replies to send, replies that must wait.

`replies` depend on nothing that is not yet persisted, so they may be sent at once. A reply that
announces something the records make true is held back with both its endings, and the shard
picks one when it learns whether the records were committed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response


class CoordinatorRecord(NamedTuple):
    """One record of the group's partition of `__consumer_offsets`; no value means a tombstone."""

    key: bytes
    value: bytes | None


class Reply(NamedTuple):
    """An answer to the request that came with `token`."""

    token: object
    response: Response


class HeldReply(NamedTuple):
    """An answer that depends on whether the decision's records become committed."""

    token: object
    committed: Response
    failed: Callable[[ErrorCode], Response]


class ProducerIdAndEpoch(NamedTuple):
    """Whose transaction records belong to."""

    producer_id: int
    producer_epoch: int


@dataclass(slots=True)
class CoordinatorDecision:
    records: list[CoordinatorRecord] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    held: list[HeldReply] = field(default_factory=list)
    producer: ProducerIdAndEpoch | None = None
    """If there is one, the records are part of a transaction of its."""

    def reply(self, token: object, response: Response) -> None:
        self.replies.append(Reply(token, response))

    def hold(
        self, token: object, *, committed: Response, failed: Callable[[ErrorCode], Response]
    ) -> None:
        """Answer once the records are persisted, or at once when there are none."""
        if self.records:
            self.held.append(HeldReply(token, committed, failed))
        else:
            self.reply(token, committed)
