"""`State`: the value that a handler keeps for the key of the record."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

from barnabas.client.durations import Duration
from barnabas.errors import InvalidArgument

V = TypeVar("V")
D = TypeVar("D")


class State(Generic[V]):
    """One value for each key of the handled records.

        @app.handler("orders", group="shop", exactly_once=True)
        def count(order: Order, total: State[Total]) -> None:
            total.set(Total(total.get(Total(0)).count + 1))

    A change counts when the record is done: what a failed attempt has set is forgotten, and so is
    what a call has set that raised, if middleware catches that. Change what `get` returns only
    together with `set`: each call of it makes a new object.

    `State(Total(5))` is one for calling a handler in a test.
    """

    def __init__(self, value: V | None = None, *, key: bytes = b"") -> None:
        self.key = key
        """The key of the record."""
        self._value = value
        self._is_changed = False

    @overload
    def get(self) -> V | None: ...
    @overload
    def get(self, default: V) -> V: ...
    @overload
    def get(self, default: D) -> V | D: ...
    def get(self, default: V | D | None = None) -> V | D | None:
        """The value of this key, or `default` if it has none."""
        value = self._load()
        return default if value is None else value

    def set(self, value: V) -> None:
        """Keep a value for this key."""
        if value is None:
            raise InvalidArgument("None is no value of a state: use delete()")
        self._store(value)
        self._is_changed = True

    def update(self, change: Callable[[V], V], default: V) -> V:
        """Keep what `change` makes of the value, or of `default` if there is none."""
        value = change(self.get(default))
        self.set(value)
        return value

    def delete(self) -> None:
        """Keep nothing for this key."""
        self._store(None)
        self._is_changed = True

    @property
    def exists(self) -> bool:
        """Whether this key has a value."""
        return self._load() is not None

    def _load(self) -> V | None:
        return self._value

    def _store(self, value: V | None) -> None:
        self._value = value


@dataclass(frozen=True)
class Expires:
    """Says in an annotation that values are deleted when they were not set for some time.

    cart: Annotated[State[Cart], Expires("7d")]
    """

    after: Duration


class StoredState(State[V]):
    """A state whose value is bytes in a store."""

    def __init__(
        self,
        key: bytes,
        data: bytes | None,
        encode: Callable[[V], bytes | None],
        decode: Callable[[bytes], V],
    ) -> None:
        super().__init__(key=key)
        self._data = data
        self._encode = encode
        self._decode = decode

    @property
    def change(self) -> tuple[bytes | None] | None:
        """The new value in bytes, or None for a deleted one; None if nothing was changed."""
        return (self._data,) if self._is_changed else None

    def _load(self) -> V | None:
        return None if self._data is None else self._decode(self._data)

    def _store(self, value: V | None) -> None:
        self._data = None if value is None else self._encode(value)
