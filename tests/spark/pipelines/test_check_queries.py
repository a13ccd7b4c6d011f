"""`barnabas pipeline check --queries` finds what only Spark can, without a broker."""

import json

import pytest

from tests.cli.conftest import Cli

pytestmark = pytest.mark.long  # a Spark of its own

TOPIC = '-- source views: topic views schema="page STRING, at TIMESTAMP"'
SINK = "-- sink: topic out"

DEFINITIONS = {
    "good": f"{TOPIC}\n{SINK}\nSELECT upper(page) AS page FROM views",
    "syntax": f"{TOPIC}\n{SINK}\nSELECT page FRM views",
    "column": f"{TOPIC}\n{SINK}\nSELECT pge FROM views",
    "function": f"{TOPIC}\n{SINK}\nSELECT uper(page) AS page FROM views",
    "view": f"{TOPIC}\n{SINK}\nSELECT page FROM visits",
    "unbounded": f"{TOPIC}\n{SINK}\nSELECT page, count(*) AS n FROM views GROUP BY page",
    "key": f"{TOPIC}\n-- sink: topic out key=user\nSELECT page FROM views",
    "table": f"{TOPIC}\n-- sink: sqlite place.db views key=user\nSELECT page FROM views",
    "sink": f"{TOPIC}\n-- sink: kitchen out\nSELECT page FROM views",
}
FUNCTION = """
from barnabas.spark.pipelines import from_topic, pipeline, to_topic

views = from_topic("views", schema="page STRING")

@pipeline(sources={"views": views}, sink=to_topic("out"))
def in_python(views):
    return views.select("page", "visitor")

@pipeline(sink=to_topic("out"))
def with_session(spark):
    return spark.readStream.format("rate").load().selectExpr("value")
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str | None]]:
    folder = tmp_path_factory.mktemp("pipelines")
    for name, text in DEFINITIONS.items():
        (folder / f"{name}.sql").write_text(text)
    (folder / "functions.py").write_text(FUNCTION)
    done = Cli("localhost:1").run("pipeline", "check", str(folder), "--queries", "--json")
    assert done.returncode == 1
    assert not (folder / "place.db").exists()
    return {each["pipeline"]: each for each in json.loads(done.stdout)}


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("syntax", "PARSE_SYNTAX_ERROR"),
        ("column", "`pge`"),
        ("function", "`uper`"),
        ("view", "`visits`"),
        ("unbounded", "watermark"),
        ("key", "user"),
        ("table", "user"),
        ("sink", "kitchen"),
        ("in_python", "`visitor`"),
    ],
)
def test_what_only_spark_can_find(
    checked: dict[str, dict[str, str | None]], name: str, error: str
) -> None:
    assert error in (checked[name]["error"] or "nothing")


def test_what_is_right_and_what_can_not_be_checked(
    checked: dict[str, dict[str, str | None]],
) -> None:
    assert (checked["good"]["error"], checked["good"]["query"]) == (None, "ok")
    assert checked["with_session"]["error"] is None
    assert checked["with_session"]["query"] == "it reads with the session"
