"""Settings of one transform: a setting that no transform asks for is refused."""

from collections.abc import Mapping
from difflib import get_close_matches

from barnabas.errors import InvalidArgument


class TransformSettings:
    """Settings under a prefix such as `transforms.mask.`; errors name the whole setting."""

    def __init__(self, prefix: str, given: Mapping[str, str]) -> None:
        self._prefix = prefix
        self._given = {
            name.removeprefix(prefix): value
            for name, value in given.items()
            if name.startswith(prefix)
        }
        self._asked: set[str] = set()

    def text(self, name: str, default: str | None = None) -> str:
        found = self.optional(name)
        if found is not None:
            return found
        if default is None:
            raise InvalidArgument(f"{self._prefix}{name} is missing")
        return default

    def optional(self, name: str) -> str | None:
        self._asked.add(name)
        return self._given.get(name)

    def names(self, name: str) -> list[str]:
        """A list with commas."""
        return [each.strip() for each in self.text(name, "").split(",") if each.strip()]

    def pairs(self, name: str) -> dict[str, str]:
        """A list as `a:b,c:d`."""
        found = {}
        for each in self.names(name):
            first, colon, second = each.rpartition(":")
            if not colon or not first or not second:
                raise self.wrong(name, f"write {each!r} as a:b")
            found[first] = second
        return found

    def flag(self, name: str, default: bool) -> bool:
        text = self.text(name, str(default)).lower()
        if text not in ("true", "false"):
            raise self.wrong(name, f"true or false, not {text!r}")
        return text == "true"

    def wrong(self, name: str, why: str) -> InvalidArgument:
        return InvalidArgument(f"{self._prefix}{name}: {why}")

    def check_all_asked(self) -> None:
        """Raise for a setting that has no effect."""
        for name in self._given:
            if name not in self._asked:
                like = get_close_matches(name, self._asked, 1)
                meant = f": did you mean {self._prefix}{like[0]}?" if like else ""
                raise InvalidArgument(f"unknown setting {self._prefix}{name}{meant}")
