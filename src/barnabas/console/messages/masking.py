"""Parts of records that no page, search or download may show.

A rule is TOPICS:PART. TOPICS is a name or a pattern with `*`; PART is `key`, `value`, `headers`,
`header.NAME`, or a path into values that are JSON, as `$.card.number`; `*` in a path stands for all
fields or items. A value that is not JSON is masked as a whole where a path is masked: what can't be
read can't be let through.

A dead letter is masked by the rules of the topic that its record came from, too. There its value is
masked as a whole, because it may have been given up for its shape, and so are the headers that say
why: a reason may quote the record.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from barnabas.client.producer.dead_letters import HEADER_PREFIX
from barnabas.errors import InvalidArgument
from barnabas.records.message import Message

MASK = "•••"
_MASK_BYTES = MASK.encode()
_WHOLE = ("key", "value", "headers")
_CONNECT_PREFIX = "__connect.errors."
"""Of the dead letters of Kafka Connect."""
_LETTER_PREFIXES = (HEADER_PREFIX, _CONNECT_PREFIX)
_ORIGINS = frozenset(f"{prefix}topic" for prefix in _LETTER_PREFIXES)
_PLACES = frozenset(
    f"{prefix}{name}"
    for prefix in _LETTER_PREFIXES
    for name in ("topic", "partition", "offset", "timestamp", "group", "deliveries")
)


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

    @property
    def is_empty(self) -> bool:
        return not self._rules

    def cover(self, topic: str) -> bool:
        """Whether something of a topic is masked."""
        return any(fnmatchcase(topic, each.topics) for each in self._rules)

    def cover_record(self, message: Message) -> bool:
        """Whether something of a record is masked, by its topic or by the one it came from."""
        return bool(self._rules) and any(map(self.cover, (message.topic, *_origins(message))))

    def apply(self, message: Message) -> Message:
        """The record without what is masked."""
        if not self._rules:
            return message
        origins = _origins(message)
        for rule in self._rules_of(message.topic):
            message = _apply(rule, message)
        for origin in origins:
            message = _apply_to_letter(self._rules_of(origin), message)
        return message

    def _rules_of(self, topic: str) -> list[MaskRule]:
        return [each for each in self._rules if fnmatchcase(topic, each.topics)]


def _origins(message: Message) -> list[str]:
    """The topics that a dead letter names as those of its record."""
    return [
        (value or b"").decode("utf-8", "replace")
        for name, value in message.headers
        if name in _ORIGINS
    ]


def _apply_to_letter(rules: list[MaskRule], message: Message) -> Message:
    if not rules:
        return message
    for rule in rules:
        whole = MaskRule(rule.topics, "value") if rule.path is not None else rule
        message = _apply(whole, message)
    return message._replace(
        headers=tuple(
            (name, _MASK_BYTES if _may_quote(name) else value) for name, value in message.headers
        )
    )


def _may_quote(header: str) -> bool:
    """Whether a header of a dead letter may have a part of its record."""
    return header.startswith(_LETTER_PREFIXES) and header not in _PLACES


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
