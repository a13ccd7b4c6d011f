"""The topic that keeps the state of a handler, as far as handlers read it."""

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol

from barnabas.app.state.inheritance import GroupView
from barnabas.errors import StateLost


class StateRow(NamedTuple):
    """The value that a key was given at a time in milliseconds; None deletes it."""

    key: bytes
    value: bytes | None
    written_ms: int


class ChangelogRows(NamedTuple):
    """Rows of a changelog, and the offset of what follows them."""

    rows: Sequence[StateRow]
    next_offset: int


class Extent(NamedTuple):
    """What a partition of a changelog has: which topic, the first offset, and the one to come.

    `asked_ms`: when that was asked for.
    """

    topic_id: bytes
    first: int
    end: int
    asked_ms: int = 0


class ChangelogNames(NamedTuple):
    """The topic of a handler's state, and whose it is."""

    topic: str
    source: str
    group: str
    handler: str

    @property
    def remedy(self) -> str:
        """What to do if it is lost."""
        return (
            "To build the state again from the records of its source, stop the application and "
            f"run: barnabas app state rebuild MODULE:NAME {self.handler}"
        )


def deleted(names: ChangelogNames) -> StateLost:
    """The topic is gone, while the handler runs."""
    return StateLost(
        f"handler {names.handler}: its changelog {names.topic} was deleted while it was in use. "
        f"{names.remedy}"
    )


class Changelog(Protocol):
    """Of one handler."""

    async def ensure(self) -> None:
        """Create the topic if it was never there, with the partitions of the source.

        The source exists. Raises if it is lost, or differs.
        """

    async def partitions(self) -> list[int]:
        """Which there are. Raises if there is no such topic."""

    async def extents(
        self, partitions: Sequence[int], *, committed: bool = False
    ) -> dict[int, Extent]:
        """What there is now, for each. With `committed` it ends before open transactions."""

    def read(self, partition: int, start: int, end: int) -> AsyncIterator[ChangelogRows]:
        """What was committed from one offset up to another one.

        It waits for the end of transactions that are open there.
        """

    async def group(self) -> GroupView:
        """The group of the handler, as it is now."""

    async def close(self) -> None: ...
