"""Spark settings that sources, sinks and pipelines need from the start of a session."""

from collections.abc import Iterable

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.spark.sessions.combined_conf import combined, has_several_values, is_for_the_jvm


def session_conf(pipelines: Iterable[Pipeline]) -> dict[str, str | int | bool]:
    """What all need; raises `InvalidArgument` if ends contradict each other.

    Other settings of a pipeline are made when its query starts.
    """
    conf: dict[str, str | int | bool] = {}
    for defined in pipelines:
        for end in (*defined.sources.values(), defined.sink):
            for name, value in end.session_conf.items():
                known = conf.setdefault(name, value)
                if known != value and not has_several_values(name):
                    raise InvalidArgument(
                        f"pipeline {defined.name}: {end.describe()} needs {name}={value}, and "
                        f"another source or sink needs {name}={known}: run them separately"
                    )
                if known != value:
                    conf = combined(conf, {name: value})
        of_jvm = {name: value for name, value in defined.conf.items() if is_for_the_jvm(name)}
        conf = combined(conf, of_jvm)
    return conf
