"""When a record that failed is handled again, and when it is given up."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from barnabas.backoff import Backoff
from barnabas.client.durations import Duration, seconds, short
from barnabas.errors import InvalidArgument

BackoffChoice: TypeAlias = Literal["exponential"] | Duration | Sequence[Duration]

_EXPONENTIAL = Backoff(0.1, 30.0)


@dataclass(frozen=True)
class RetryPolicy:
    """`pauses` before each blocking attempt; None is exponential, with a random spread.

    `topics` has the pauses of retry topics, which come after the blocking attempts.
    """

    retries: int = 0
    pauses: tuple[float, ...] | None = None
    topics: tuple[float, ...] = ()

    def pause_s(self, attempt: int) -> float:
        """The pause before the n-th further attempt, n from 1."""
        if self.pauses is None:
            return _EXPONENTIAL.pause(attempt, random.random)
        return self.pauses[min(attempt, len(self.pauses)) - 1]

    @property
    def blocking_s(self) -> float:
        """All pauses before blocking attempts, without the random spread."""
        if self.pauses is None:
            return sum(_EXPONENTIAL.pause(each + 1) for each in range(self.retries))
        return sum(self.pause_s(each + 1) for each in range(self.retries))

    def next_stage(self, stage: int, after_s: float = 0.0) -> int | None:
        """The next retry topic, as its index, that waits long enough; else the last one.

        `stage` is the first that may be taken. None if there is no other one.
        """
        if stage >= len(self.topics):
            return None
        left = range(stage, len(self.topics))
        return next((each for each in left if self.topics[each] >= after_s), left[-1])

    def topic_of(self, topic: str, stage: int) -> str:
        """The name of a retry topic."""
        return f"{topic}.retry.{short(self.topics[stage])}"

    def topics_of(self, topic: str) -> dict[str, float]:
        """The retry topics of a topic, each with its pause in seconds."""
        return {f"{topic}.retry.{short(each)}": each for each in self.topics}


def retry_policy(
    retries: int, backoff: BackoffChoice, retry_topics: Sequence[Duration]
) -> RetryPolicy:
    """From what a handler is given."""
    if not isinstance(retries, int):
        raise InvalidArgument(f"retries={retries!r}: write a number, such as retries=3")
    if retries < 0:
        raise InvalidArgument(f"retries={retries}: it is 0 or more")
    pauses: tuple[float, ...] | None = None
    if isinstance(backoff, list | tuple):
        if not backoff:
            raise InvalidArgument('backoff=(): name pauses, or write backoff="exponential"')
        pauses = tuple(seconds(each, "backoff") for each in backoff)
    elif backoff != "exponential":
        pauses = (seconds(backoff, "backoff"),)  # type: ignore[arg-type]
    if isinstance(retry_topics, str):
        raise InvalidArgument(
            f"retry_topics={retry_topics!r}: write a list, such as retry_topics=[{retry_topics!r}]"
        )
    topics = tuple(seconds(each, "retry_topics") for each in retry_topics)
    if len(set(topics)) < len(topics):
        raise InvalidArgument(f"retry_topics={list(retry_topics)!r}: each pause has one topic")
    return RetryPolicy(retries, pauses, topics)
