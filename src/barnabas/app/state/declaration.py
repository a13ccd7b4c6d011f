"""What a handler declares with a parameter `cart: State[Cart]`."""

from typing import Annotated, Any, get_args, get_origin

from barnabas.app.state.changelog import StateRow
from barnabas.app.state.state import Expires, State, StoredState
from barnabas.client.durations import seconds
from barnabas.errors import InvalidArgument
from barnabas.formats import choose, decoder, encoder


class StateDeclaration:
    """The name of the parameter, how its values become bytes, and when they expire."""

    def __init__(self, name: str, kind: Any, expires_ms: int | None = None) -> None:
        self.name = name
        self.expires_ms = expires_ms
        self.kind = kind
        chosen = choose(kind, "bytes", name)
        self._encode = encoder(chosen, name)
        self._decode = decoder(chosen, name)

    def open(self, key: bytes, row: StateRow | None, now_ms: int) -> StoredState[Any]:
        """The state of one key, for one attempt."""
        data = None if row is None or self.has_expired(row, now_ms) else row.value
        return StoredState(key, data, self._encode, self._decode)

    def has_expired(self, row: StateRow, now_ms: int) -> bool:
        return self.expires_ms is not None and row.written_ms + self.expires_ms <= now_ms

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
