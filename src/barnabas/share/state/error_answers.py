"""Answers that have nothing but an error code for each share partition."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from barnabas.share.state.pending_states import ShareStateDecision
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response
from barnabas.wire.messages import delete_share_group_state as delete_messages
from barnabas.wire.messages import initialize_share_group_state as initialize_messages
from barnabas.wire.messages import write_share_group_state as write_messages

ErrorResults = Sequence[tuple[bytes, Sequence[tuple[int, ErrorCode]]]]
"""Topic ids, each with its partitions and their errors."""


class AnswerParts(NamedTuple):
    """What the answers to a request are made of."""

    response: Callable[[list[Any]], Response]
    topic: Callable[[bytes, list[Any]], Any]
    partition: Callable[[int, int], Any]


INITIALIZE = AnswerParts(
    initialize_messages.InitializeShareGroupStateResponse,
    initialize_messages.InitializeStateResult,
    initialize_messages.PartitionResult,
)
WRITE = AnswerParts(
    write_messages.WriteShareGroupStateResponse,
    write_messages.WriteStateResult,
    write_messages.PartitionResult,
)
DELETE = AnswerParts(
    delete_messages.DeleteShareGroupStateResponse,
    delete_messages.DeleteStateResult,
    delete_messages.PartitionResult,
)


def hold_errors(
    decision: ShareStateDecision, token: object, results: ErrorResults, parts: AnswerParts
) -> None:
    """Answer with these errors once the decision is committed; if it fails, partitions without an
    error of their own get that of the failure."""

    def respond(failure: ErrorCode = ErrorCode.NONE) -> Response:
        return parts.response(
            [
                parts.topic(
                    topic_id,
                    [parts.partition(index, error or failure) for index, error in partitions],
                )
                for topic_id, partitions in results
            ]
        )

    decision.hold(token, committed=respond(), failed=respond)
