"""What the README, the docs and the handlers say is true: snippets and versions."""

from dataclasses import replace
from inspect import getmodule
from pathlib import Path

import pytest

from barnabas.broker.handlers.produce import FIRST_VERSION
from barnabas.broker.routes import routes
from tests.conftest import MakeBroker
from tests.examples.documents import ROOT, Step, run, steps, tools
from tests.registry.registry_process import registries
from tests.support.machine import find_tool, missing
from tests.support.supervised import Supervised

pytestmark = pytest.mark.timeout(600)  # a page has up to fifty commands, each a process

README = ROOT / "README.md"
DOCS = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "architecture").glob("*.md")])

BEFOREHAND = {
    "python-api.md": [
        "seq 1001 | barnabas produce orders --create",
        "barnabas consume orders --group billing --no-follow",
    ],
    "python-consumer.md": [
        "echo ada:1 olive | barnabas produce orders --create --key-separator :",
        "echo hello | barnabas produce greetings --create",
    ],
    "cluster-operations.md": ["barnabas topics create payments --partitions 3"],
    "tls.md": [
        "barnabas security init ./security --node 1=host1 --node 2=host2 --node 3=host3",
    ],
    "running-a-broker.md": [
        "barnabas topics create clicks",
        "barnabas topics create old-clicks",
        "barnabas topics create orders",
        "echo 1 | barnabas produce orders",
        "barnabas consume orders --group billing --no-follow",
    ],
}


OF_CLUSTERS = (
    README,
    *(ROOT / "docs" / name for name in ("cluster.md", "cluster-operations.md", "quickstart.md")),
)
OF_SPARK = [  # see tests/spark
    ROOT / "docs" / name
    for name in (
        "first-pipeline.md",
        "spark.md",
        "pipelines.md",
        "running-pipelines.md",
        "custom-sinks.md",
        "recipes.md",
        "etl.md",
        "changes.md",
        "connect.md",
    )
]
OF_SCHEMAS = ROOT / "docs" / "schemas.md"
_ELSEWHERE = (*OF_CLUSTERS, *OF_SPARK, OF_SCHEMAS)
OF_BROKERS = [document for document in DOCS if document not in _ELSEWHERE and steps(document)]


@pytest.mark.parametrize("document", OF_CLUSTERS, ids=lambda path: path.name)
def test_every_snippet_about_clusters_runs_with_three_nodes(document: Path, tmp_path: Path) -> None:
    cluster = Supervised(tmp_path, "--nodes", "3", "--set", "offsets.topic.num.partitions=3")
    try:
        bootstrap = cluster.ready()
        (tmp_path / "barnabas-data").symlink_to(tmp_path / "data")
        for command in BEFOREHAND.get(document.name, ()):
            run(Step("console", command), bootstrap, tmp_path)
        for step in steps(document):
            run(step, bootstrap, tmp_path)
    finally:
        cluster.kill()


@pytest.mark.parametrize("document", OF_BROKERS, ids=lambda path: path.name)
def test_every_snippet_runs(document: Path, make_broker: MakeBroker, tmp_path: Path) -> None:
    broker = make_broker()
    work = tmp_path / "work"
    work.mkdir()
    (work / "data").symlink_to(broker.data)
    for command in BEFOREHAND.get(document.name, ()):
        run(Step("console", command), broker.bootstrap, work)
    lacking = set()
    for step in steps(document):
        absent = [name for name in tools(step) if find_tool(name) is None]
        lacking.update(absent)
        if not absent:
            run(step, broker.bootstrap, work)
    if lacking:
        pytest.skip(f"ran all but a part: {', '.join(map(missing, sorted(lacking)))}")


def test_every_snippet_about_schemas_runs_with_a_registry(
    make_broker: MakeBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = make_broker()
    with registries(tmp_path, broker.bootstrap) as make:
        url = make().url
        monkeypatch.setenv("BARNABAS_REGISTRY", url)
        for step in steps(OF_SCHEMAS):
            source = step.source.replace("http://localhost:8081", url)
            run(replace(step, source=source), broker.bootstrap, tmp_path)


def test_a_snippet_that_fails_or_prints_something_else_is_noticed(tmp_path: Path) -> None:
    run(Step("console", "echo a; echo bcd", ["a", "b…d"]), "", tmp_path)
    run(Step("console", "echo a; echo b; echo c; echo d", ["a", "…", "d"]), "", tmp_path)
    with pytest.raises(AssertionError):
        run(Step("console", "echo a; echo b; echo c", ["a…c"]), "", tmp_path)
    with pytest.raises(AssertionError):
        run(Step("console", "echo a", ["b"]), "", tmp_path)
    with pytest.raises(AssertionError):
        run(Step("console", "false | cat"), "", tmp_path)
    with pytest.raises(AssertionError):
        run(Step("python", "raise SystemExit(1)"), "", tmp_path)


def test_handlers_say_which_versions_they_serve() -> None:
    for route in routes():
        api = route.request_type.__name__.removesuffix("Request")
        # Produce advertises versions that it refuses, and says so.
        low = FIRST_VERSION if api == "Produce" else route.min_version
        high = route.max_version
        said = f"{api}, version {low}" if low == high else f"{api}, versions {low}-{high}"
        module = getmodule(route.handle)
        assert module is not None
        assert said in " ".join((module.__doc__ or "").split()), module.__name__
