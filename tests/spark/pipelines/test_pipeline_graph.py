"""The graph of pipelines: what they share, its cycles, and its pictures."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from barnabas.cli.pipeline.arguments import GraphFormat
from barnabas.cli.pipeline.graph import print_graph
from barnabas.flow.graph import Node
from barnabas.flow.layers import in_layers
from barnabas.spark.pipelines import Pipeline, load
from barnabas.spark.pipelines.graph.mermaid import mermaid
from barnabas.spark.pipelines.graph.pipeline_graph import graph_of
from barnabas.spark.pipelines.graph.svg import svg


def define(folder: Path, name: str, sources: str, sink: str, more: str = "") -> None:
    lines = [
        f'-- source s{at}: topic {topic} schema="a STRING"{more}'
        for at, topic in enumerate(sources.split())
    ]
    (folder / f"{name}.sql").write_text("\n".join([*lines, f"-- sink: {sink}", "SELECT a FROM s0"]))


@pytest.fixture
def three(tmp_path: Path) -> list[Pipeline]:
    define(tmp_path, "clean", "raw", "topic good", more=" dead_letters=bad")
    define(tmp_path, "count", "good users", "topic counts")
    define(tmp_path, "archive", "counts", f"parquet {tmp_path}/table")
    (tmp_path / "again.sql").write_text(
        f'-- source t: files {tmp_path}/table schema="a STRING"\n-- sink: console\nSELECT a FROM t'
    )
    return list(load(tmp_path).values())


@pytest.fixture
def circle(tmp_path: Path) -> list[Pipeline]:
    define(tmp_path, "there", "a", "topic b")
    define(tmp_path, "back", "b in", "topic a")
    define(tmp_path, "itself", "self", "topic self")
    define(tmp_path, "out", "b", "topic c")
    return list(load(tmp_path).values())


def test_what_one_writes_another_one_reads(three: list[Pipeline]) -> None:
    graph = graph_of(three)
    count = Node("pipeline", "count")
    assert graph.upstream_of(count) == ["clean"]
    assert graph.upstream_of(Node("pipeline", "again")) == ["archive"], "over the files of a table"
    assert graph.targets()[Node("topic", "good")] == [count]
    assert [each.target.name for each in graph.edges if each.dead_letters] == ["bad"]
    assert graph.cycles() == []


def test_text_has_dependencies_first(
    three: list[Pipeline], capsys: pytest.CaptureFixture[str]
) -> None:
    print_graph(three, GraphFormat.TEXT)
    rows = [re.split(r"  +", line) for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == ["PIPELINE", "clean", "count", "archive", "again"]
    assert rows[1][1:] == ["topic raw", "topic good", "bad", "-"]
    assert rows[2][1:] == ["topic good, topic users", "topic counts", "-", "clean"]


def test_cycles_are_named(circle: list[Pipeline], capsys: pytest.CaptureFixture[str]) -> None:
    print_graph(circle, GraphFormat.TEXT)
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("cycle")]
    assert told == ["cycle: back -> there -> back", "cycle: itself -> itself"]
    print_graph(circle, GraphFormat.JSON)
    assert json.loads(capsys.readouterr().out)["cycles"] == [["back", "there"], ["itself"]]


def test_layers_go_from_left_to_right(three: list[Pipeline], circle: list[Pipeline]) -> None:
    layers = in_layers(graph_of(three)).layers
    rank = {slot: at for at, layer in enumerate(layers) for slot in layer}
    assert rank[Node("topic", "users")] == rank[Node("topic", "good")], "next to its reader"
    for edge in graph_of(three).edges:
        assert rank[edge.source] < rank[edge.target]
    for layer in in_layers(graph_of(circle)).layers:
        assert layer


def test_the_picture_has_all_nodes_apart_from_each_other(
    three: list[Pipeline], circle: list[Pipeline]
) -> None:
    for pipelines in (three, circle, []):
        graph = graph_of(pipelines)
        picture = ET.fromstring(svg(graph))
        name = "{http://www.w3.org/2000/svg}"
        groups = picture.findall(f"{name}g")
        assert len(groups) == len(graph.nodes)
        assert len(picture.findall(f"{name}path")) == len(graph.edges)
        boxes = []
        for group in groups:
            box = group.find(f"{name}rect")
            assert box is not None
            x, y, width, height = (
                float(box.attrib[each]) for each in ("x", "y", "width", "height")
            )
            assert x + width <= float(picture.attrib["width"])
            assert y + height <= float(picture.attrib["height"])
            assert all(
                x + width <= left or right <= x or y + height <= top or bottom <= y
                for left, right, top, bottom in boxes
            ), "no two overlap"
            boxes.append((x, x + width, y, y + height))


def test_mermaid_has_nodes_and_edges(three: list[Pipeline]) -> None:
    lines = mermaid(graph_of(three)).splitlines()
    assert lines[0] == "flowchart LR"
    assert sum('(["topic raw"])' in line for line in lines) == 1
    assert sum("-->" in line for line in lines) == 9
    assert sum("-. dead letters .->" in line for line in lines) == 1
