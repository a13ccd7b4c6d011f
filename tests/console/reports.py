"""Reports as running pipelines write them, without Spark."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import barnabas
from barnabas.flow.reports import CONFIGS, PARTITIONS, TOPIC, encode, key_of

_EVERY_S = 5.0


def report_of(pipeline: str, **values: Any) -> dict[str, Any]:
    return {
        "pipeline": pipeline,
        "host": "vm",
        "folder": "/srv/pipelines",
        "pid": 4711,
        "state": "running",
        "defined_in": "/srv/shop.py",
        "started": 1_700_000_000.0,
        "batches": 7,
        "batch": 6,
        "batch_duration_ms": 420,
        "rows_in": 4_000,
        "rows_out": 1_200,
        "rows_late": 0,
        "dead_letters": 0,
        "rows_in_per_s": 120.0,
        "rows_out_per_s": 40.0,
        "read_per_s": {"orders": 120.0},
        "lag": 17,
        "lag_s": 1.5,
        "watermark": "2026-01-01T00:00:00.000Z",
        "state_rows": 12,
        "state_bytes": 34_000,
        "restarts": 0,
        "error": None,
        "reads": [["topic", "orders"]],
        "writes": [["topic", "revenue"]],
        "dead_letter_topics": ["bad-orders"],
        "expectations": [],
        **values,
    }


def write_reports(
    bootstrap: str, *reports: dict[str, Any], security: Mapping[str, str] | None = None
) -> list[str]:
    """Their ids."""
    with (
        barnabas.Admin(bootstrap, security=security) as admin,
        barnabas.Producer(bootstrap, security=security) as producer,
    ):
        admin.create_topic(TOPIC, partitions=PARTITIONS, configs=CONFIGS, exist_ok=True)
        for each in reports:
            producer.send(TOPIC, encode(each), key_of(each).encode())
    return [key_of(each) for each in reports]


@contextmanager
def reporting(bootstrap: str, *reports: dict[str, Any]) -> Iterator[list[str]]:
    """Write them again and again, as pipelines that run do; their ids."""
    ended = Event()

    def report() -> None:
        while not ended.wait(_EVERY_S):
            write_reports(bootstrap, *reports)

    ids = write_reports(bootstrap, *reports)
    thread = Thread(target=report, daemon=True)
    thread.start()
    yield ids
    ended.set()
    thread.join()


def write_letters(bootstrap: str, topic: str, origin: str, *values: bytes) -> None:
    """Dead letters as pipelines write them."""
    with barnabas.Producer(bootstrap) as producer:
        for offset, value in enumerate(values):
            said = {
                "topic": origin,
                "partition": "0",
                "offset": str(offset),
                "reason": f"the value is not JSON: {json.dumps(value.decode())}",
            }
            headers = [(f"dead-letter.{name}", text.encode()) for name, text in said.items()]
            producer.send(topic, value, b"k", headers=headers)
