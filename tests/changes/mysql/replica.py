"""A process that keeps a copy of a database from its changes alone.

    python -m tests.changes.mysql.replica FILE SETTINGS-AS-JSON

reads changes for ever, and after each step replaces the file, which has the copy and the position.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from time import sleep

from barnabas.changes.mysql.changes import MySqlChanges
from barnabas.changes.mysql.position import BinlogPosition, binlog_position_of
from barnabas.changes.mysql.settings import MySqlSettings, mysql_settings
from barnabas.changes.mysql.values import PLAIN
from tests.changes.postgres.replica import Replica


def plain(settings: Mapping[str, str]) -> MySqlSettings:
    return replace(mysql_settings(settings), representation=PLAIN)


def save(path: Path, position: BinlogPosition, replica: Replica, steps: int) -> None:
    new = path.with_suffix(".new")
    new.write_text(
        json.dumps({"position": position.json(), "tables": replica.tables, "steps": steps})
    )
    new.replace(path)


def follow(path: Path, settings: MySqlSettings) -> None:
    replica, steps = Replica(), 0
    with MySqlChanges(settings) as changes:
        if path.exists():
            saved = json.loads(path.read_text())
            position, steps = binlog_position_of(saved["position"]), saved["steps"]
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
