"""What a handler declares with a parameter `cart: State[Cart]`."""

import json
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin

from barnabas.app.state.changelog import StateRow
from barnabas.app.state.state import Expires, State, StoredState
from barnabas.client.durations import seconds
from barnabas.errors import InvalidArgument, StateLost
from barnabas.formats import choose, decoder, encoder
from barnabas.formats.conversion import json_codec

_AS_JSON, _ = json_codec(Any)
_PLAIN = (bytes, int, str)


class StateDeclaration:
    """The name of the parameter, how its values become bytes, and when they expire."""

    def __init__(self, name: str, kind: Any, expires_ms: int | None = None) -> None:
        self.name = name
        self.expires_ms = expires_ms
        self.kind = kind
        chosen = choose(kind, "bytes", name)
        self._encode = encoder(chosen, name)
        self.decode = decoder(chosen, name)

    def open(
        self,
        key: bytes,
        row: StateRow | None,
        now_ms: int,
        on_unreadable: Callable[[bytes, Exception], None],
    ) -> StoredState[Any]:
        """The state of one key, for one attempt."""
        data = None if row is None or self.has_expired(row, now_ms) else row.value

        def decode(stored: bytes) -> Any:
            try:
                return self.decode(stored)
            except Exception as error:  # whatever a format raises
                on_unreadable(key, error)
                raise

        return StoredState(key, data, self._encode, decode)

    def has_expired(self, row: StateRow, now_ms: int) -> bool:
        return self.expires_ms is not None and row.written_ms + self.expires_ms <= now_ms

    def value_of(self, row: StateRow) -> Any:
        """The value of a row; raises `StateLost` if it is not of the type."""
        try:
            return self.decode(row.value or b"")
        except Exception as error:
            raise StateLost(
                f"the value of {self.name} for key {row.key!r} can't be read: {error}"
            ) from error

    def json_of(self, row: StateRow) -> bytes:
        """The value of a row as JSON, for people and other programs; raises `StateLost`."""
        value = self.value_of(row)
        data = row.value or b""
        if self.kind in _PLAIN or not _is_json(data):
            return _AS_JSON(value)
        return data

    def changelog(self, group: str, handler: str) -> str:
        """The name of the topic that keeps the values."""
        return f"{group}.{handler}.{self.name}.changelog"


def state_of(handler: str, name: str, hint: Any) -> StateDeclaration | None:
    """The state that a parameter is annotated with; None if it is something else."""
    expires = None
    if get_origin(hint) is Annotated:
        expires = next((each for each in get_args(hint) if isinstance(each, Expires)), None)
        hint = get_args(hint)[0]
    if hint is not State and get_origin(hint) is not State:
        return None
    if not get_args(hint) or get_args(hint)[0] is Any:
        raise InvalidArgument(
            f"handler {handler}: say what type {name} keeps, such as {name}: State[Cart]"
        )
    (kind,) = get_args(hint)
    if expires is None:
        return StateDeclaration(name, kind)
    expires_ms = round(seconds(expires.after, "Expires") * 1000)
    if expires_ms <= 0:
        raise InvalidArgument(f"handler {handler}: {name} would expire at once")
    return StateDeclaration(name, kind, expires_ms)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True
