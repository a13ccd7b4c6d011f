"""Producer, Consumer and Admin for asyncio: the same as in `barnabas`, with `await`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.aio.admin import Admin
    from barnabas.aio.consumer import Consumer
    from barnabas.aio.producer import Producer

__all__ = ["Admin", "Consumer", "Producer"]

_HOMES = {
    "Admin": "barnabas.aio.admin",
    "Consumer": "barnabas.aio.consumer",
    "Producer": "barnabas.aio.producer",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
