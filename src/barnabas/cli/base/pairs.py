"""NAME=VALUE arguments on the command line."""

from collections.abc import Iterable

from barnabas.cli.base.command import UsageError


def parse_pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    """Read NAME=VALUE pairs; the value may be empty and may hold further equals signs."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name.strip():
            raise UsageError(f"{option} {text!r}: expected NAME=VALUE")
        pairs[name.strip()] = value.strip()
    return pairs
