"""The state that one attempt to handle a record gets, and what it has changed."""

from collections.abc import Callable
from typing import Any

from barnabas.app.outgoing import Encoded
from barnabas.app.state.state import StoredState
from barnabas.records.message import Message


class AttemptState:
    """Of one attempt; it ends with it, so no other record can be given its changes.

    Middleware may not call the function, call it again, or catch what it raises. So the last call
    counts, and nothing if that has raised. Whatever record middleware passes on, the state is that
    of the key that was read: other records of this key wait for it.
    """

    def __init__(
        self,
        message: Message,
        name: str,
        changelog: str,
        open_state: Callable[[Message], StoredState[Any]],
    ) -> None:
        """`name` is that of the parameter; `open_state` reads what is stored."""
        self._message = message
        self._name = name
        self._changelog = changelog
        self._open_state = open_state
        self._opened: StoredState[Any] | None = None

    def open(self) -> dict[str, StoredState[Any]]:
        """What is stored, as an argument for a call."""
        self._opened = None
        self._opened = self._open_state(self._message)
        return {self._name: self._opened}

    def forget(self) -> None:
        """The call has raised."""
        self._opened = None

    @property
    def change(self) -> Encoded | None:
        """What is to be sent to the changelog; None if nothing was changed."""
        if self._opened is None or self._opened.change is None:
            return None
        (value,) = self._opened.change
        partition = self._message.partition
        return Encoded(self._changelog, value, self._message.key, (), partition)
