"""Results that a broker refuses in a transaction, which is rolled back because of them.

The first time it is not known which one was bad, since a broker refuses a whole batch. So all
records whose results were refused are suspects: when they come again, the results of each are sent
alone and waited for. The record whose results are refused then has failed; it is handled again as
often as its retries allow, each time in a new transaction, and is given up at last.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from barnabas.app.attempts import Attempts, SentResult, confirmed
from barnabas.app.handler import Handler
from barnabas.app.letters import Original
from barnabas.app.undelivered import SinkFailed, is_of_record
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BarnabasError
from barnabas.records.message import Message

Place = tuple[str, int, int]
Deliver = Callable[[], Awaitable[list[SentResult]]]
Recover = Callable[[Original, Exception], Awaitable[list[SentResult]]]


class ResultRefused(Exception):  # noqa: N818 - it never leaves the application
    """A result was refused: the transaction has to be repeated."""


@dataclass
class _Refusal:
    """What is known of a record: attempts that were its own failures, and the last error."""

    attempts: int = 0
    error: Exception | None = None


class Refusals:
    """Of one handler with `exactly_once`."""

    def __init__(self, attempts: Attempts, handler: Handler) -> None:
        self._attempts = attempts
        self._handler = handler
        self._sent: list[tuple[Sequence[Message], list[SentResult]]] = []
        self._known: dict[Place, _Refusal] = {}

    @property
    def are_known(self) -> bool:
        """Whether a record of the last rounds is a suspect."""
        return bool(self._known)

    def is_known(self, message: Message) -> bool:
        return _place(message) in self._known

    def begin(self) -> None:
        """A transaction begins."""
        self._sent.clear()

    def expect(self, messages: Sequence[Message], sent: list[SentResult]) -> None:
        """These results come from these records."""
        if sent and self._handler.exactly_once:
            self._sent.append((messages, sent))

    def learn(self) -> bool:
        """The transaction was rolled back: whether it was because of results."""
        found = False
        for messages, sent in self._sent:
            errors = (each.receipt.exception() for each in sent)
            if any(error is not None and is_of_record(error) for error in errors):
                for each in messages:
                    self._known.setdefault(_place(each), _Refusal())
                found = True
        return found

    def forget(self, messages: Sequence[Message]) -> None:
        """These are committed."""
        if self._known:
            for each in messages:
                self._known.pop(_place(each), None)

    def drop(self, partitions: Iterable[TopicPartition]) -> None:
        """Other members read these now."""
        gone = set(partitions)
        self._known = {
            place: refusal
            for place, refusal in self._known.items()
            if TopicPartition(place[0], place[1]) not in gone
        }

    async def handle(self, message: Message, deliver: Deliver, recover: Recover) -> None:
        """A suspect comes again."""
        known = self._known[_place(message)]
        policy = self._handler.policy
        if known.error is not None and known.attempts > policy.retries:
            original = Original(message, attempts=known.attempts)
            await self._attempts.give_up(original, known.error)
            return
        if known.error is not None:
            await self._attempts.pause(policy.pause_s(known.attempts))
            self._handler.statistics.retried += 1
        await self._attempts.sink.flush()  # no other result is in the same batch
        try:
            sent = await deliver()
        except Exception as error:  # noqa: BLE001 - whatever a handler raises
            sent = await recover(Original(message, attempts=known.attempts), error)
        try:
            await confirmed(sent)
        except SinkFailed as failed:
            raise failed.error from failed  # of the transaction: it is rolled back
        except BarnabasError as error:
            known.attempts += 1
            known.error = error
            self._handler.statistics.failed += 1
            raise ResultRefused(str(error)) from error


def _place(message: Message) -> Place:
    return message[0], message[1], message[2]
