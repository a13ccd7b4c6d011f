"""What `registry=` stands for."""

from typing import TYPE_CHECKING

from barnabas.errors import InvalidArgument
from barnabas.formats.named import REGISTERED

if TYPE_CHECKING:
    from barnabas.formats.registered.registry import Registry


def registry_of(choice: "str | Registry | None", *formats: object) -> "Registry | None":
    """A URL, or a registry with options. One of these formats has to need it."""
    if choice is None:
        return None
    names = [each for each in formats if isinstance(each, str) and each in REGISTERED]
    if not names:
        known = ", ".join(f'"{name}"' for name in REGISTERED)
        raise InvalidArgument(
            f"registry= is not used: add value_format= or key_format= with one of {known}"
        )
    from barnabas.formats.registered.registry import Registry

    return Registry(choice) if isinstance(choice, str) else choice
