"""Profiles: clusters by name, each a properties file in the user's folder of settings.

One of them may be in use: commands take it where neither an option nor a variable names a cluster.
So a profile's password never goes to a cluster that was named in another way.
"""

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

_SUFFIX = ".properties"
_IN_USE = "profile"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Profiles:
    """The profiles of the user whose environment this is."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        own = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME", "")) / ".config"
        self.folder = Path(own) / "barnabas"

    def names(self) -> list[str]:
        """All, in order."""
        return sorted(each.name.removesuffix(_SUFFIX) for each in self.folder.glob(f"*{_SUFFIX}"))

    def path(self, name: str) -> Path:
        """Where a profile of this name is, or would be."""
        return self.folder / f"{name}{_SUFFIX}"

    def in_use(self) -> str | None:
        """The name of the profile in use."""
        try:
            return (self.folder / _IN_USE).read_text(encoding="utf-8").strip() or None
        except FileNotFoundError:
            return None

    def use(self, name: str | None) -> None:
        """Use this one from now on, or none."""
        if name is None:
            (self.folder / _IN_USE).unlink(missing_ok=True)
        else:
            self._write(self.folder / _IN_USE, f"{name}\n")

    def save(self, name: str, settings: Mapping[str, str]) -> None:
        """Write a profile; only its user can read it, since it may have a password.

        Raises `InvalidArgument` if the name can't be one of a file.
        """
        from barnabas.errors import InvalidArgument

        if not _NAME.fullmatch(name):
            raise InvalidArgument(
                f"invalid profile name {name!r}; use letters, digits, dots, - and _"
            )
        lines = [f"{key}={value}\n" for key, value in settings.items()]
        self._write(self.path(name), "".join(lines))

    def delete(self, name: str) -> None:
        """Delete a profile that exists; it is no longer in use."""
        self.path(name).unlink()
        if self.in_use() == name:
            self.use(None)

    def _write(self, path: Path, text: str) -> None:
        """Replace the file at once, so that a command never reads half of it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            new.touch(mode=0o600)
            new.write_text(text, encoding="utf-8")
            new.replace(path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                new.unlink()
