"""Which Spark pipelines and connectors can run on."""

import os
from collections.abc import Mapping

from barnabas.cli.base.command import UsageError

_REMOTE_SETTING, _REMOTE_VARIABLE = "spark.remote", "SPARK_REMOTE"


def check_master(master: str, conf: Mapping[str, object]) -> None:
    """Raise if it is a server of Spark Connect, by whatever way it is named."""
    from barnabas.spark.sessions.tuned_session import REMOTE

    named = {
        f"--conf {_REMOTE_SETTING}": conf.get(_REMOTE_SETTING),
        _REMOTE_VARIABLE: os.environ.get(_REMOTE_VARIABLE),
    }
    ways = [f"{name}={value}" for name, value in named.items() if value]
    if master.startswith(REMOTE):
        ways.insert(0, f"--master {master}")
    if ways:
        raise UsageError(
            f"{ways[0]}: pipelines do not run through Spark Connect, which shows too little of a "
            "query to supervise it; use the cluster's own master, as spark://HOST:7077, or run the "
            "command where the server runs"
        )
