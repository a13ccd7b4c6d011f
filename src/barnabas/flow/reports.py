"""The topic that running pipelines report to, a record for each pipeline every few seconds.

Compacted: it keeps the newest report of each pipeline, and of the last minutes all of them. A
report is the status of the pipeline as JSON, with the places that it reads and writes. Any client
may write to the topic, so nothing of a report is taken as it is.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

TOPIC = "__barnabas_pipelines"
PARTITIONS = 1
CONFIGS = {
    "cleanup.policy": "compact,delete",
    "retention.ms": str(7 * 24 * 3600 * 1000),
    "segment.bytes": str(2 * 1024 * 1024),
    "min.cleanable.dirty.ratio": "0.3",
    "message.timestamp.type": "LogAppendTime",
}
CHANGED_S = 2.0
"""How often a pipeline that gets on is reported."""
ALIVE_S = 10.0
"""How often any is."""
LOST_AFTER_S = 40.0
"""After that long without a report, the process of a pipeline has died or is cut off."""

Report: TypeAlias = dict[str, Any]
Place: TypeAlias = tuple[str, str]
"""Kind and name, as ("topic", "orders")."""

_NUMBERS = (
    *("pid", "updated", "started", "batches", "batch", "batch_ended", "batch_duration_ms"),
    *("rows_in", "rows_out", "rows_late", "dead_letters", "rows_in_per_s", "rows_out_per_s"),
    *("lag", "lag_s", "state_rows", "state_bytes", "restarts", "failed_at", "next_start"),
)
_TEXTS = (
    *("connector", "host", "folder", "defined_in", "state", "watermark", "error"),
    *("control", "answer", "answered"),
)
_PLACES = ("reads", "writes")
_NOT_PLACES = ("pipeline", "connector")
"""Kinds of nodes that pipelines neither read nor write."""
_LONG = 4_000
_MANY = 100
_LARGE = 1e18


def key_of(report: Mapping[str, Any]) -> str:
    """Which pipeline it is of: others of the same name may run elsewhere."""
    return f"{report.get('host') or ''}:{report.get('folder') or ''}/{report['pipeline']}"


def encode(report: Mapping[str, Any]) -> bytes:
    return json.dumps(report, separators=(",", ":")).encode()


def decode(value: bytes | None) -> Report | None:
    """A report with all its fields, each of its type or None; None for anything else."""
    if not value:
        return None
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("pipeline"), str):
        return None
    return checked(found)


def checked(found: Mapping[str, Any]) -> Report:
    """The fields of a report, each of its type or None."""
    report: Report = {"pipeline": found["pipeline"][:_LONG]}
    for name in _NUMBERS:
        report[name] = _number(found.get(name))
    for name in _TEXTS:
        report[name] = _text(found.get(name))
    for name in _PLACES:
        report[name] = _places(found.get(name))
    report["dead_letter_topics"] = _texts(found.get("dead_letter_topics"))
    report["read_per_s"] = _rates(found.get("read_per_s"))
    report["expectations"] = _expectations(found.get("expectations"))
    return report


def _number(value: object) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < _LARGE else None


def _text(value: object) -> str | None:
    return value[:_LONG] if isinstance(value, str) else None


def _texts(value: object) -> list[str]:
    given = value[:_MANY] if isinstance(value, list) else []
    return [each[:_LONG] for each in given if isinstance(each, str)]


def _places(value: object) -> list[Place]:
    given = value[:_MANY] if isinstance(value, list) else []
    pairs = [_texts(each) for each in given]
    return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2 and pair[0] not in _NOT_PLACES]


def _rates(value: object) -> dict[str, float]:
    given = list(value.items())[:_MANY] if isinstance(value, dict) else []
    return {topic[:_LONG]: rate for topic, each in given if (rate := _number(each)) is not None}


def _expectations(value: object) -> list[dict[str, Any]]:
    given = value[:_MANY] if isinstance(value, list) else []
    return [
        {
            **{name: _text(each.get(name)) for name in ("rule", "condition", "on_failure")},
            **{name: _number(each.get(name)) for name in ("passed", "failed")},
        }
        for each in given
        if isinstance(each, dict)
    ]
