"""Records that go to a retry topic or to the dead letters.

A record in a retry topic has the key, value and headers of the original, and in addition:

    retry.topic, .partition, .offset, .timestamp   where the original is, and its timestamp in ms
    retry.group                                    the group whose handler failed
    retry.attempts                                 how often it was handled so far
    retry.stage                                    how many retry topics it has been in, with this
    retry.reason                                   what the handler raised
"""

from typing import NamedTuple

from barnabas.client.producer.dead_letters import encoded
from barnabas.errors import UndecodableRecord
from barnabas.records.message import Message
from barnabas.records.record import Header

PREFIX = "retry."
_REASON_CHARS = 1000


class Original(NamedTuple):
    """A record as it was when it was read first."""

    message: Message
    attempts: int = 0
    stage: int = 0


def retry_headers(original: Original, group: str, reason: str) -> list[Header]:
    """Those of a record that goes to its next retry topic."""
    message = original.message
    said = {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp_ms,
        "group": group,
        "attempts": original.attempts,
        "stage": original.stage + 1,
        "reason": reason,
    }
    return [*message.headers, *((f"{PREFIX}{name}", encoded(f"{said[name]}")) for name in said)]


def original_of(message: Message, group: str) -> Original | None:
    """The original of a record of a retry topic; None if it is not this group's."""
    said = {
        name.removeprefix(PREFIX): (value or b"").decode("utf-8", "replace")
        for name, value in message.headers
        if name.startswith(PREFIX)
    }
    if said.get("group") != group:
        return None
    try:
        return Original(
            Message(
                said["topic"],
                int(said["partition"]),
                int(said["offset"]),
                int(said["timestamp"]),
                message.key,
                message.value,
                tuple(each for each in message.headers if not each[0].startswith(PREFIX)),
            ),
            int(said["attempts"]),
            int(said["stage"]),
        )
    except (KeyError, ValueError):
        return None


def reason_of(error: BaseException) -> str:
    """What to say of a failure, in a header."""
    said = error.problem if isinstance(error, UndecodableRecord) else error
    return f"{type(error).__name__}: {said}"[:_REASON_CHARS]
