"""Barnabas: a publish-subscribe log that speaks the Kafka protocol, written in Python."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.embedded.cluster import Cluster

__all__ = ["Cluster", "__version__"]

__version__ = "0.1.0"

_HOMES = {"Cluster": "barnabas.embedded.cluster"}
"""Where public names live. They are imported when they are first used: a broker needs none."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
