"""What a handler declares with a parameter `cart: State[Cart]`."""

from typing import Any, get_args, get_origin

from barnabas.app.state.state import State, StoredState
from barnabas.errors import InvalidArgument
from barnabas.formats import choose, decoder, encoder


class StateDeclaration:
    """The name of the parameter, and how its values become bytes."""

    def __init__(self, name: str, kind: Any) -> None:
        self.name = name
        self.kind = kind
        chosen = choose(kind, "bytes", name)
        self._encode = encoder(chosen, name)
        self._decode = decoder(chosen, name)

    def open(self, key: bytes, data: bytes | None) -> StoredState[Any]:
        """The state of one key, for one attempt."""
        return StoredState(key, data, self._encode, self._decode)

    def changelog(self, group: str, handler: str) -> str:
        """The name of the topic that keeps the values."""
        return f"{group}.{handler}.{self.name}.changelog"


def state_of(handler: str, name: str, hint: Any) -> StateDeclaration | None:
    """The state that a parameter is annotated with; None if it is something else."""
    if hint is not State and get_origin(hint) is not State:
        return None
    if not get_args(hint) or get_args(hint)[0] is Any:
        raise InvalidArgument(
            f"handler {handler}: say what type {name} keeps, such as {name}: State[Cart]"
        )
    (kind,) = get_args(hint)
    return StateDeclaration(name, kind)
