"""Settings of a file of Mirror Maker 2, looked up from the special to the general.

    A->B.topics      of the flow from A to B
    A.ssl.key...     of the cluster A
    topics           of everything

What was never asked for is not used, and can be named.
"""

import re
from collections.abc import Iterable, Mapping
from math import inf, nan

from barnabas.errors import InvalidArgument

_TRUE, _FALSE = "true", "false"
_PROVIDED = re.compile(r"\$\{[^}]*:[^}]*\}")


class FileSettings:
    """The settings of one file; it remembers which of them were used."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = properties
        self._used: set[str] = set()

    @property
    def unused(self) -> list[str]:
        """Settings that were never asked for, in the order of the file."""
        return [name for name in self._properties if name not in self._used]

    def find(self, prefixes: Iterable[str], *names: str) -> tuple[str, str] | None:
        """Full name and value of a setting; the first prefix and the first name count.

        Those that are overridden count as used as well. Empty ones are not set.
        """
        keys = [f"{prefix}{name}" for prefix in prefixes for name in names]
        present = [each for each in keys if self._properties.get(each, "")]
        self._used.update(each for each in keys if each in self._properties)
        if not present:
            return None
        value = self._properties[present[0]]
        if _PROVIDED.search(value):
            raise InvalidArgument(
                f"{present[0]} is read by a config provider ({value}): those are not supported; "
                "write the value into the file"
            )
        return present[0], value

    def text(self, prefixes: Iterable[str], *names: str) -> str | None:
        """The value of a setting; None if it is not set."""
        found = self.find(prefixes, *names)
        return None if found is None else found[1]

    def names(self, prefixes: Iterable[str], *names: str) -> tuple[str, ...] | None:
        """A list that commas separate."""
        found = self.text(prefixes, *names)
        return None if found is None else listed(found)

    def boolean(self, prefixes: Iterable[str], name: str) -> bool | None:
        found = self.find(prefixes, name)
        if found is None:
            return None
        if found[1].lower() not in (_TRUE, _FALSE):
            raise InvalidArgument(f"{found[0]}={found[1]}: use true or false")
        return found[1].lower() == _TRUE

    def number(self, prefixes: Iterable[str], name: str, least: int = 1) -> int | None:
        found = self.find(prefixes, name)
        if found is None:
            return None
        if not re.fullmatch(r"-?\d+", found[1]) or int(found[1]) < least:
            raise InvalidArgument(f"{found[0]}={found[1]}: use a number from {least} on")
        return int(found[1])

    def decimal(self, prefixes: Iterable[str], name: str, least: float) -> float | None:
        found = self.find(prefixes, name)
        if found is None:
            return None
        try:
            value = float(found[1])
        except ValueError:
            value = nan
        if not least <= value < inf:
            raise InvalidArgument(f"{found[0]}={found[1]}: use a number from {least:g} on")
        return value

    def choice(self, prefixes: Iterable[str], known: Iterable[str], *names: str) -> str | None:
        """One of the known values."""
        found = self.find(prefixes, *names)
        if found is not None and found[1] not in known:
            raise InvalidArgument(f"{found[0]}={found[1]}: use {', '.join(known)}")
        return None if found is None else found[1]


def listed(text: str) -> tuple[str, ...]:
    """Names that commas separate."""
    return tuple(each.strip() for each in text.split(",") if each.strip())
