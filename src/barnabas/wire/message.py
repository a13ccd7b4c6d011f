"""What every generated message class offers."""

from typing import Any, ClassVar, Final, Generic, Self, TypeVar

from barnabas.wire.primitives import Reader, Writer

NEVER = 32767
"""`FLEXIBLE_FROM` of a message that has no flexible version."""

EMPTY: Final[list[Any]] = []
"""Stands for a list that was not given; each message then gets a new one of its own."""

_SECRETS = frozenset(
    {
        "auth_bytes",
        "hmac",
        "request_data",
        "response_data",
        "salt",
        "salted_password",
        "server_key",
        "stored_key",
    }
)
"""Fields that are not shown."""


class Struct:
    """A structure inside a message. Two of one type with equal fields are equal."""

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(
            f"{name}=..." if name in _SECRETS else f"{name}={getattr(self, name)!r}"
            for name in self.__slots__
        )
        return f"{type(self).__name__}({fields})"

    @classmethod
    def decode(cls, r: Reader, version: int) -> Self:
        raise NotImplementedError

    def encode(self, w: Writer, version: int) -> None:
        raise NotImplementedError


class Message(Struct):
    """A request, a response, or a record of an internal topic, in all its versions."""

    __slots__ = ()

    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    FLEXIBLE_FROM: ClassVar[int]
    """From this version on, lengths are compact and tagged fields may follow every structure."""


class Response(Message):
    """An answer of a broker."""

    __slots__ = ()

    API_KEY: ClassVar[int]


ResponseT_co = TypeVar("ResponseT_co", bound=Response, covariant=True)


class Request(Message, Generic[ResponseT_co]):
    """A question to a broker, which is answered with `RESPONSE`."""

    __slots__ = ()

    API_KEY: ClassVar[int]
    RESPONSE: ClassVar[type[Response]]
