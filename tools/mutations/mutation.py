"""One fault: what it changes in the sources, and what users would suffer from it."""

from dataclasses import dataclass
from pathlib import Path


class DoesNotApply(Exception):  # noqa: N818 - says what is wrong
    """The text that a mutation replaces is not in its file exactly once."""


@dataclass(frozen=True)
class Mutation:
    """A replacement of one piece of text in one file below src/barnabas."""

    name: str
    file: str
    old: str
    new: str
    breaks: str
    """One sentence: what happens to users."""
    areas: tuple[str, ...]
    """Folders and files below tests/ that are likely to find it, the cheapest first."""

    def path(self, root: Path) -> Path:
        return root / "src" / "barnabas" / self.file

    def mutate(self, source: str) -> str:
        found = source.count(self.old)
        if found != 1:
            raise DoesNotApply(
                f"{self.name}: its old text occurs {found} times in src/barnabas/{self.file}; "
                "update or replace its entry in tools/mutations/entries"
            )
        return source.replace(self.old, self.new)
