"""Which tests run in the same worker of pytest-xdist, and which ones workers begin with.

Tests share what is expensive. A Spark session takes ten CPU seconds to start and as many to get
warm, so the files whose tests use one are dealt out to few workers, and so are those whose tests
start Spark in processes (`@pytest.mark.drivers`). Tests that share a fixture of their module stay
together.

The groups with Spark take longest and come first. Otherwise three workers wait at the end for the
fourth one.
"""

from collections.abc import Iterable

import pytest

from tests.support import tier

_SESSIONS = 2
_DRIVERS = 2

_USUAL_S = 5
_LONGER_S = {
    "connect/test_drivers.py": 150,
    "connect/test_failover.py": 50,
    "connect/test_mirror_connector.py": 60,
    "connect/test_secured_service.py": 30,
    "connect/test_service.py": 80,
    "examples/test_demo.py": 150,
    "spark/decoding/test_from_json.py": 30,
    "spark/pipelines/test_control_command.py": 60,
    "spark/pipelines/test_database_sinks.py": 45,
    "spark/pipelines/test_etl.py": 160,
    "spark/pipelines/test_expectations.py": 15,
    "spark/pipelines/test_file_ends.py": 15,
    "spark/pipelines/test_http_sink.py": 40,
    "spark/pipelines/test_killed_connectors.py": 60,
    "spark/pipelines/test_killed_dead_letters.py": 120,
    "spark/pipelines/test_killed_objects.py": 60,
    "spark/pipelines/test_many_pipelines.py": 15,
    "spark/pipelines/test_objects.py": 30,
    "spark/pipelines/test_pipeline_command.py": 70,
    "spark/pipelines/test_pipeline_recipes.py": 35,
    "spark/pipelines/test_pipeline_state.py": 20,
    "spark/pipelines/test_pipeline_versions.py": 15,
    "spark/pipelines/test_pipelines.py": 40,
    "spark/pipelines/test_postgres_changes.py": 45,
    "spark/pipelines/test_query_source.py": 45,
    "spark/pipelines/test_registered_columns.py": 30,
    "spark/pipelines/test_secured_pipelines.py": 50,
    "spark/pipelines/test_watch.py": 20,
    "spark/pipelines/test_wordcount.py": 60,
    "spark/sink/test_killed_sinks.py": 75,
    "spark/source/test_streaming_reads.py": 25,
    "spark/test_documents.py": 15,
    "spark/test_spark_cluster.py": 120,
    "spark/test_workloads.py": 120,
}
"""About how many seconds a file takes, for dealing them out evenly. Need not be exact."""


def assign_groups(items: list[pytest.Item]) -> None:
    """Mark tests with their groups, and put those with Spark first."""
    in_session = {_file(item) for item in items if tier.needs_session(item)}
    in_drivers = {_file(item) for item in items if item.get_closest_marker("drivers")} - in_session
    sessions = 1 if tier.is_quick() else _SESSIONS
    groups = _dealt_out(in_session, "spark", sessions)
    groups |= _dealt_out(in_drivers, "spark-drivers", _DRIVERS)
    first: list[pytest.Item] = []
    rest: list[pytest.Item] = []
    for item in items:
        if item.get_closest_marker("xdist_group") is not None:
            (first if "spark" in item.nodeid else rest).append(item)
            continue
        group = groups.get(_file(item))
        if group is not None and (_file(item) in in_session or item.get_closest_marker("drivers")):
            item.add_marker(pytest.mark.xdist_group(group))
            first.append(item)
            continue
        if isinstance(item, pytest.Function) and _shares(item):
            item.add_marker(pytest.mark.xdist_group(_file(item)))
        rest.append(item)
    items[:] = first + rest


def _dealt_out(files: Iterable[str], name: str, count: int) -> dict[str, str]:
    """A group for each file: the longest first, each to the group that has least to do."""
    loads = [0] * count
    found: dict[str, str] = {}
    for file in sorted(files, key=lambda each: (-_seconds(each), each)):
        least = loads.index(min(loads))
        loads[least] += _seconds(file)
        found[file] = f"{name}-{least + 1}"
    return found


def _seconds(file: str) -> int:
    return _LONGER_S.get(file.removeprefix("tests/"), _USUAL_S)


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _shares(item: pytest.Function) -> bool:
    found = item._fixtureinfo.name2fixturedefs.values()
    return any(fixtures[-1].scope == "module" for fixtures in found)
