"""Parts of records that no page, search or download may show.

A rule is TOPICS:PART. TOPICS is a name or a pattern with `*`; PART is `key`, `value`, `headers`,
`header.NAME`, or a path into values that are JSON, as `$.card.number`; `*` in a path stands for all
fields or items. A value that is not JSON is masked as a whole where a path is masked: what can't be
read can't be let through.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from barnabas.errors import InvalidArgument
from barnabas.records.message import Message

MASK = "•••"
_MASK_BYTES = MASK.encode()
_WHOLE = ("key", "value", "headers")


@dataclass(frozen=True, slots=True)
class MaskRule:
    """One rule."""

    topics: str
    part: str

    @property
    def path(self) -> list[str] | None:
        """The steps of a path; None if the rule has none."""
        return self.part.split(".")[1:] if self.part.startswith("$.") else None


def parse_mask(text: str) -> MaskRule:
    """Raises `InvalidArgument`."""
    topics, _, part = text.partition(":")
    is_known = part in _WHOLE or part.startswith(("header.", "$."))
    if not topics or not is_known or part.endswith("."):
        raise InvalidArgument(
            f"--mask {text}: expected TOPICS:PART, with key, value, headers, header.NAME or "
            "$.path.in.json, as 'orders*:$.card.number'"
        )
    return MaskRule(topics, part)


class Masks:
    """All rules."""

    def __init__(self, rules: Iterable[MaskRule]) -> None:
        self._rules = tuple(rules)

    def cover(self, topic: str) -> bool:
        """Whether something of a topic is masked."""
        return any(fnmatchcase(topic, each.topics) for each in self._rules)

    def apply(self, message: Message) -> Message:
        """The record without what is masked."""
        if not self._rules:
            return message
        rules = [each for each in self._rules if fnmatchcase(message.topic, each.topics)]
        for rule in rules:
            message = _apply(rule, message)
        return message


def _apply(rule: MaskRule, message: Message) -> Message:
    path = rule.path
    if path is not None:
        return message._replace(value=_mask_path(message.value, path))
    if rule.part == "key":
        return message._replace(key=message.key and _MASK_BYTES)
    if rule.part == "value":
        return message._replace(value=message.value and _MASK_BYTES)
    hidden = rule.part.partition(".")[2]
    return message._replace(
        headers=tuple(
            (name, _MASK_BYTES if not hidden or name == hidden else value)
            for name, value in message.headers
        )
    )


def _mask_path(value: bytes | None, path: list[str]) -> bytes | None:
    if value is None:
        return None
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return _MASK_BYTES
    if not isinstance(parsed, dict | list):
        return _MASK_BYTES
    _mask(parsed, path)
    return json.dumps(parsed, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _mask(node: Any, path: list[str]) -> None:
    step, rest = path[0], path[1:]
    if isinstance(node, dict):
        keys: list[Any] = list(node) if step == "*" else [step] if step in node else []
    elif isinstance(node, list):
        is_index = step.isdecimal() and int(step) < len(node)
        keys = list(range(len(node))) if step == "*" else [int(step)] if is_index else []
    else:
        return
    for key in keys:
        if rest:
            _mask(node[key], rest)
        else:
            node[key] = MASK
