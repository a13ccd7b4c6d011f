"""Changes that the changelog has refused, where nothing is rolled back because of them.

Changes are sent without waiting, so a refusal is noticed when the round ends, and other records
have seen the state by then. So all records of the round come again, and each change of theirs is
waited for: the record whose change is refused then has failed, as if its function had.
"""

from collections.abc import Iterable

from barnabas.records.message import Message


class RefusedChanges:
    """Of one handler without `exactly_once`: which records are suspects."""

    def __init__(self) -> None:
        self._upto: dict[int, int] = {}
        """The last suspect of each partition; what comes again begins before it."""

    def suspect(self, messages: Iterable[Message]) -> None:
        """One of these has a change that was refused."""
        for each in messages:
            self._upto[each.partition] = each.offset

    def is_suspect(self, message: Message) -> bool:
        return message.offset <= self._upto.get(message.partition, -1)

    def forget(self, messages: Iterable[Message]) -> None:
        """These are done."""
        for each in messages:
            if self._upto.get(each.partition) == each.offset:
                del self._upto[each.partition]

    def drop(self, partitions: Iterable[int]) -> None:
        """Others have these now."""
        for each in partitions:
            self._upto.pop(each, None)
