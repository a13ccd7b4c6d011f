"""Settings under the names that Debezium gives them: texts that are checked and parsed."""

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

from barnabas.errors import InvalidArgument

T = TypeVar("T")

_TOPIC = re.compile(r"[A-Za-z0-9._-]+")
_NO_LIMIT_S = 1e7  # some months, which every driver takes
_OPERATIONS = {"c", "u", "d", "t"}


def check_names(
    given: Mapping[str, str],
    known: AbstractSet[str],
    only: Mapping[str, Sequence[str]],
    instead: Mapping[str, str],
) -> None:
    """Each setting has an effect, or one of the values that have none (`only`)."""
    for name, value in given.items():
        if name not in known:
            _check_other(name, value, known, only, instead)


def _check_other(
    name: str,
    value: str,
    known: AbstractSet[str],
    only: Mapping[str, Sequence[str]],
    instead: Mapping[str, str],
) -> None:
    if name in only:
        if value not in only[name]:
            raise InvalidArgument(f"{name}={value!r}: only {' or '.join(only[name])} is supported")
        return
    if name in instead:
        raise InvalidArgument(f"{name} is not supported: {instead[name]}")
    like = get_close_matches(name.lower(), known, 1, 0.6)
    hint = f"did you mean {like[0]}?" if like else "leave it out"
    raise InvalidArgument(f"unknown setting {name!r}: {hint}")


def required(given: Mapping[str, str], name: str, what: str) -> str:
    """A setting that has no default."""
    value = given.get(name)
    if not value:
        raise InvalidArgument(f"set {name}: {what}")
    return value


def topic_prefix(given: Mapping[str, str]) -> str:
    """What topics start with."""
    prefix = required(given, "topic.prefix", "the name that topics start with, such as shop")
    if not _TOPIC.fullmatch(prefix):
        raise InvalidArgument(
            f"topic.prefix={prefix!r}: use letters, digits, '.', '_' and '-', as topics have them"
        )
    return prefix


def parsed(given: Mapping[str, str], name: str, default: str, parse: Callable[[str], T]) -> T:
    """A setting, as `parse` reads it."""
    text = given.get(name, default)
    try:
        return parse(text.strip())
    except ValueError as error:
        raise InvalidArgument(f"{name}={text!r}: {error}") from None


def optional(given: Mapping[str, str], name: str, parse: Callable[[str], T]) -> T | None:
    """A setting, or None if it is not given."""
    return parsed(given, name, "", parse) if name in given else None


def number(least: int, most: int | None = None) -> Callable[[str], int]:
    """Reads a number within bounds."""

    def parse(text: str) -> int:
        bounds = f"{least} or more" if most is None else f"{least} to {most}"
        if not text.isdecimal() or not least <= int(text) <= (int(text) if most is None else most):
            raise ValueError(f"use a number, {bounds}")
        return int(text)

    return parse


def boolean(text: str) -> bool:
    """Reads true or false."""
    if text.lower() not in ("true", "false"):
        raise ValueError("use true or false")
    return text.lower() == "true"


def choice(given: Mapping[str, str], name: str, choices: Any, default: str) -> Any:
    """One of the values of a `Literal`."""
    names = [each for each in get_args(choices) if each != "plain"]

    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(f"use {', '.join(names[:-1])} or {names[-1]}")
        return text

    return parsed(given, name, default, parse)


def snapshot_mode(given: Mapping[str, str], choices: Any) -> Any:
    """What is read before the first change: one of the values of a `Literal`."""
    older = {"never": "no_data", "schema_only": "no_data"}
    text = given.get("snapshot.mode", "initial")
    return choice({"snapshot.mode": older.get(text, text)}, "snapshot.mode", choices, "initial")


def operations(given: Mapping[str, str]) -> frozenset[str]:
    """Operations that are left out."""

    def parse(text: str) -> frozenset[str]:
        found = frozenset(each.strip() for each in text.split(","))
        if found == {"none"}:
            return frozenset()
        if not found <= _OPERATIONS:
            raise ValueError("use none, or some of c, u, d, t with commas")
        return found

    return parsed(given, "skipped.operations", "t", parse)


def query_timeout_s(given: Mapping[str, str]) -> float:
    """How long a server may take for an answer, in seconds; 0 is for as long as it takes."""
    timeout_ms = parsed(given, "database.query.timeout.ms", "600000", number(0))
    return timeout_ms / 1000 if timeout_ms else _NO_LIMIT_S


def signal_table(given: Mapping[str, str], example: str) -> str:
    """The table of signals; empty if there is none."""

    def parse(text: str) -> str:
        if text and not all(text.partition(".")):
            raise ValueError(f"name its schema or database too, such as {example}")
        return text

    return parsed(given, "signal.data.collection", "", parse)
