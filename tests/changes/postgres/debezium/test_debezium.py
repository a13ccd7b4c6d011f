"""Our records of a workload are those that Debezium produced for it; see `record`."""

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import psycopg

from barnabas.changes.calendar_text import POSITIVE_INFINITY
from barnabas.changes.postgres.changes import PostgresChanges
from barnabas.changes.postgres.envelope import Envelope
from barnabas.changes.postgres.position import ChangePosition
from barnabas.changes.postgres.settings import change_settings
from tests.changes.postgres.conftest import Settings
from tests.changes.postgres.debezium.normalization import normalized
from tests.changes.postgres.debezium.record import GOLDEN
from tests.changes.postgres.debezium.scenario import PREFIX, TABLES, change, prepare

SNAPSHOT_PLACES = ("first", "first_in_data_collection", "last_in_data_collection", "last")
OVERFLOWN_INFINITY = -2147472692


def as_documented(record: dict[str, Any]) -> dict[str, Any] | None:
    """A record of Debezium with the differences that docs/changes.md names; None if left out."""
    value = record["value"]
    if value is None:
        # Without a key, a tombstone deletes nothing.
        return None if record["key"] is None else record
    if "source" not in value:
        # The id of Debezium's END is not that of its BEGIN.
        return {**record, "key": {"id": "ID"}}
    source = value["source"]
    if source["snapshot"] != "false":
        # What is last is not known while it is read in chunks, and rows of a chunk that is read
        # again must not differ.
        assert source["snapshot"] in ("true", *SNAPSHOT_PLACES)
        source |= {"snapshot": "true", "txId": "NoneType"}
    if value["op"] == "d" and record["topic"].endswith("orders"):
        # The log has only the key; Debezium writes an empty text where the column is NOT NULL.
        value["before"] |= dict.fromkeys(value["before"].keys() - {"id"})
    if value["after"] and value["after"].get("day") == OVERFLOWN_INFINITY:
        value["after"]["day"] = POSITIVE_INFINITY
    return record


def by_topic(records: Iterable[dict[str, Any] | None]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in records:
        if each is not None:
            found[each["topic"]].append(each)
    return dict(found)


def test_the_same_records_as_debezium(connection: psycopg.Connection, settings: Settings) -> None:
    prepare(connection)
    given = change_settings(
        settings(
            topic__prefix=PREFIX,
            table__include__list=",".join(TABLES),
            provide__transaction__metadata="true",
        )
    )
    envelope = Envelope(given)
    ours: list[dict[str, Any]] = []

    def read(changes: PostgresChanges, position: ChangePosition) -> ChangePosition:
        while (end := changes.latest(position)) != position:
            for event in changes.read(position, end):
                ours.extend(normalized(*record) for record in envelope.records(event))
            position = end
        return position

    with PostgresChanges(given) as changes:
        position = read(changes, changes.initial())
        change(connection)
        read(changes, position)
    expected = by_topic(map(as_documented, json.loads(GOLDEN.read_text("utf-8"))))
    found = by_topic(ours)
    assert found.keys() == expected.keys()
    for topic, records in expected.items():
        for mine, theirs in zip(found[topic], records, strict=False):
            assert mine == theirs
        assert len(found[topic]) == len(records)
