"""Start and end positions, as options express them.

earliest, latest                             the same place in all partitions
{"orders": {"0": 23, "1": -1}}               an offset for each; -2 is earliest, -1 latest
{"orders": {"0": 23}, "*": -2}               the same, and a place for all others
1700000000000, or that for each partition    the first record that is not older, in ms
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.list_offsets import EARLIEST, LATEST
from barnabas.errors import InvalidArgument

Offsets = dict[TopicPartition, int]

OTHERS = "*"
"""Stands for all partitions that are not named."""


@dataclass(frozen=True)
class Positions:
    """Places in partitions: those that `each` has, and `every` for all others."""

    every: int | None = None
    each: Offsets = field(default_factory=dict)
    are_times: bool = False
    """Whether the numbers are milliseconds since 1970 and not offsets."""
    option: str = field(default="", compare=False)
    """The option that it comes from."""

    @property
    def places(self) -> set[int]:
        return {*self.each.values(), *(() if self.every is None else (self.every,))}


def parse_offsets(option: str, text: str) -> Positions:
    """Parse `startingOffsets` or `endingOffsets`."""
    name = text.strip().lower()
    if name == "earliest":
        return Positions(EARLIEST, option=option)
    if name == "latest":
        return Positions(LATEST, option=option)
    given = _json(option, text, '"earliest", "latest" or')
    others = given.pop(OTHERS, None)
    if others not in (None, EARLIEST, LATEST):
        raise InvalidArgument(f'{option}: "{OTHERS}" is -2 (earliest) or -1 (latest)')
    each = offsets_of(option, given)
    if any(offset < EARLIEST for offset in each.values()):
        raise InvalidArgument(f"{option}: an offset is not negative, but for -1 and -2")
    return Positions(others, each, option=option)


def parse_timestamp(option: str, text: str) -> Positions:
    """Parse `startingTimestamp` or `endingTimestamp`."""
    try:
        timestamp_ms = int(text)
    except ValueError:
        timestamp_ms = -1
    if timestamp_ms < 0:
        raise InvalidArgument(f"{option} is milliseconds since 1970, not {text!r}")
    return Positions(timestamp_ms, are_times=True, option=option)


def parse_timestamps(option: str, text: str) -> Positions:
    """Parse `startingOffsetsByTimestamp` or `endingOffsetsByTimestamp`."""
    each = offsets_of(option, _json(option, text, ""))
    if any(timestamp_ms < 0 for timestamp_ms in each.values()):
        raise InvalidArgument(f"{option} is in milliseconds since 1970, which can't be negative")
    return Positions(each=each, are_times=True, option=option)


def parse_partitions(option: str, text: str) -> list[TopicPartition]:
    """Parse `assign`: {"orders": [0, 1]}."""
    topics = _json(option, text, "")
    try:
        named = [
            TopicPartition(topic, int(partition))
            for topic, partitions in topics.items()
            for partition in partitions
        ]
    except (TypeError, ValueError):
        raise InvalidArgument(f'{option} is JSON as {{"orders": [0, 1]}}, not {text!r}') from None
    if not named:
        raise InvalidArgument(f"{option} names no partition")
    return named


def offsets_of(what: str, topics: Mapping[str, object]) -> Offsets:
    """From Spark's form, {"orders": {"0": 23}}."""
    found: Offsets = {}
    for topic, partitions in topics.items():
        if not isinstance(partitions, dict):
            raise InvalidArgument(f'{what}: expected {{"{topic}": {{"0": 23}}}}')
        for partition, offset in partitions.items():
            try:
                found[TopicPartition(topic, int(partition))] = int(offset)
            except (TypeError, ValueError):
                raise InvalidArgument(
                    f"{what}: topic {topic}: expected a partition and offset, got {partition!r}: "
                    f"{offset!r}"
                ) from None
    return found


def json_of(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """In Spark's form: what checkpoints of Spark's own Kafka source hold as well."""
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    return topics


def _json(option: str, text: str, other: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError:
        parsed = None
    if not isinstance(parsed, dict):
        also = f"{other} " if other else ""
        raise InvalidArgument(f"{option} is {also}JSON by topic and partition, not {text!r}")
    return parsed
