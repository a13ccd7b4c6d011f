"""Loads compiled modules, which are optional: without them, Python does the same work."""

from importlib import import_module
from types import ModuleType


def load_compiled(name: str, interface: int) -> ModuleType | None:
    """The module, if it was compiled and its `INTERFACE` is the one that the caller was written
    for."""
    try:
        module = import_module(name)
    except ImportError:
        return None
    return module if getattr(module, "INTERFACE", None) == interface else None
