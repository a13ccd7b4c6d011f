"""Spark settings that sources and sinks need from the start of a session."""

from collections.abc import Iterable

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.definition.pipeline import Pipeline

_LISTS = {"spark.jars", "spark.jars.packages", "spark.jars.repositories", "spark.sql.extensions"}
"""Settings with several values, separated by commas."""


def session_conf(pipelines: Iterable[Pipeline]) -> dict[str, str]:
    """What all ends of the pipelines need; raises `InvalidArgument` if they contradict."""
    conf: dict[str, str] = {}
    for defined in pipelines:
        for end in (*defined.sources.values(), defined.sink):
            for name, value in end.session_conf.items():
                known = conf.setdefault(name, value)
                if name in _LISTS:
                    conf[name] = ",".join(dict.fromkeys([*known.split(","), *value.split(",")]))
                elif known != value:
                    raise InvalidArgument(
                        f"pipeline {defined.name}: {end.describe()} needs {name}={value}, and "
                        f"another source or sink needs {name}={known}: run them separately"
                    )
    return conf
