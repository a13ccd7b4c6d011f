"""What `barnabas` says of a cluster, for tests to look at."""

import json
from typing import Any

from tests.cli.conftest import Cli


def partitions(cli: Cli, topic: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = cli.json("topics", "describe", topic)[0]["partitions"]
    return rows


def leaders(cli: Cli, topic: str) -> list[int]:
    return [row["leader"] for row in partitions(cli, topic)]


def status(cli: Cli) -> Any:
    return json.loads(cli.run("cluster", "status", "--json").stdout)
