"""A copy of a database that is made of its changes alone, and a process that keeps one.

    python -m tests.changes.postgres.replica FILE SETTINGS-AS-JSON

reads changes for ever, and after each step replaces the file, which has the copy and the position.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

from barnabas.changes.events import Change
from barnabas.changes.postgres.changes import PostgresChanges
from barnabas.changes.postgres.events import Event
from barnabas.changes.postgres.position import ChangePosition, position_of
from barnabas.changes.postgres.settings import ChangeSettings, change_settings
from barnabas.changes.postgres.values import PLAIN


def plain(settings: Mapping[str, str]) -> ChangeSettings:
    return replace(change_settings(settings), representation=PLAIN)


class Replica:
    """Rows by table and key; of tables without a key, how often each row is there."""

    def __init__(self, *, is_partial: bool = False) -> None:
        """Is it `is_partial`, updates may come before the rows."""
        self.tables: dict[str, dict[str, Any]] = {}
        self._is_partial = is_partial

    def apply(self, events: Iterable[Event]) -> int:
        count = 0
        for event in events:
            if isinstance(event, Change):
                self._apply(event)
                count += 1
        return count

    def _apply(self, change: Change) -> None:
        table = change.table
        rows = self.tables.setdefault(table.full_name, {})
        if change.op == "t":
            rows.clear()
            return
        if not table.key:
            counts = Counter(rows)
            if change.before is not None:
                counts[_normal(table.row_json(change.before))] -= 1
            if change.after is not None:
                counts[_normal(table.row_json(change.after))] += 1
            self.tables[table.full_name] = {row: n for row, n in counts.items() if n}
            return
        row = change.row
        assert row is not None
        key = table.key_json(row)
        assert key is not None
        if change.op == "d":
            rows.pop(key, None)
        elif change.op == "u":  # what was not sent stays
            is_known = key in rows or self._is_partial
            assert is_known or not table.unavailable(row), "an update of an unknown row"
            rows[key] = {**rows.get(key, {}), **json.loads(table.row_json(row))}
        else:
            # Half of an update that changed the key lacks what was not sent.
            rows[key] = json.loads(table.row_json(row))

    def shown(self) -> dict[str, dict[str, Any]]:
        """Without tables that are empty and values that are NULL, as those of later columns are.

        Columns that the workload drops are left out as well: a drop changes no row.
        """
        return {
            name: {
                key: {
                    column: value
                    for column, value in row.items()
                    if value is not None and not column.startswith("more_")
                }
                if isinstance(row, dict)
                else row
                for key, row in rows.items()
            }
            for name, rows in self.tables.items()
            if rows
        }


def _normal(row: str) -> str:
    found = json.loads(row)
    return json.dumps({name: value for name, value in found.items() if value is not None})


def save(path: Path, position: ChangePosition, replica: Replica, steps: int) -> None:
    new = path.with_suffix(".new")
    new.write_text(
        json.dumps({"position": position.json(), "tables": replica.tables, "steps": steps})
    )
    new.replace(path)


def follow(path: Path, settings: ChangeSettings) -> None:
    replica, steps = Replica(is_partial=settings.snapshot_mode == "no_data"), 0
    with PostgresChanges(settings) as changes:
        if path.exists():
            saved = json.loads(path.read_text())
            position, steps = position_of(saved["position"]), saved["steps"]
            replica.tables = saved["tables"]
        else:
            position = changes.initial()
            save(path, position, replica, steps)
        while True:
            changes.commit(position)
            end = changes.latest(position, max_changes=50)
            if end == position:
                sleep(0.005)
                continue
            replica.apply(changes.read(position, end))
            position, steps = end, steps + 1
            save(path, position, replica, steps)


if __name__ == "__main__":
    follow(Path(sys.argv[1]), plain(json.loads(sys.argv[2])))
