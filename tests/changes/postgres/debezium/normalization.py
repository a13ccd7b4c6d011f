"""What two runs of the same workload have in common."""

import json
from typing import Any

_VOLATILE = {"version", "ts_ms", "ts_us", "ts_ns", "txId", "lsn", "db", "sequence"}


def normalized(topic: str, key: str | None, value: str | None) -> dict[str, Any]:
    """A record without what depends on the run; that something is there still shows."""
    return {
        "topic": topic,
        "key": None if key is None else _key(json.loads(key)),
        "value": None if value is None else _value(json.loads(value)),
    }


def _value(value: dict[str, Any]) -> dict[str, Any]:
    shown = {name: each for name, each in value.items() if not name.startswith("ts_")}
    source = shown.get("source")
    if source is not None:
        shown["source"] = {
            name: type(each).__name__ if name in _VOLATILE else each
            for name, each in source.items()
        }
    if shown.get("transaction"):
        shown["transaction"] = {**shown["transaction"], "id": "ID"}
    if "status" in shown:
        shown["id"] = "ID"
        if shown["data_collections"]:  # Debezium's are in no order
            shown["data_collections"].sort(key=lambda each: each["data_collection"])
    return shown


def _key(key: dict[str, Any]) -> dict[str, Any]:
    return {"id": "ID"} if isinstance(key.get("id"), str) else key
