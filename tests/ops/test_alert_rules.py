"""The alert rules and the dashboard in ops/: they name metrics that exist, and Prometheus accepts
the rules."""

import re
import subprocess

import pytest
from typer.testing import CliRunner

from barnabas.broker.monitoring.registry import METRICS
from barnabas.cli.app import app
from tests.ops.monitoring import PROMETHEUS_CONFIG, alert_rules, dashboard_queries
from tests.support.machine import find_tool, missing
from tests.support.wait import LIMIT_S

_NAME = re.compile(r"\b(?:kafka|barnabas|process)_[a-z_]+\b")
_PARTS = re.compile(r"_(bucket|count|sum)$")
"""Of histograms and summaries."""


def unknown(expression: str) -> set[str]:
    names = set(_NAME.findall(expression))
    return {name for name in names if not {name, _PARTS.sub("", name)} & METRICS.keys()}


@pytest.mark.parametrize("rule", alert_rules(), ids=lambda rule: rule["alert"])
def test_alerts_are_about_metrics_of_a_node(rule: dict[str, str]) -> None:
    assert not unknown(rule["expr"])


@pytest.mark.parametrize("rule", alert_rules(), ids=lambda rule: rule["alert"])
def test_alerts_say_what_happens_and_what_to_do(rule: dict[str, dict[str, str]]) -> None:
    assert rule["labels"]["severity"] in ("page", "warning")
    assert rule["annotations"].keys() == {"summary", "description"}
    for command in re.findall(
        r"`barnabas ([a-z -]+?)(?: (?:[A-Z]|--).*)?`", rule["annotations"]["description"]
    ):
        assert CliRunner().invoke(app, [*command.split(), "--help"]).exit_code == 0, command


def test_the_dashboard_shows_metrics_of_a_node() -> None:
    queries = dashboard_queries()
    assert len(queries) > 30
    assert not {name for query in queries for name in unknown(query)}


def test_prometheus_accepts_the_configuration_and_its_rules() -> None:
    promtool = find_tool("promtool")
    if promtool is None:
        pytest.skip(missing("promtool"))
    command = [str(promtool), "check", "config", str(PROMETHEUS_CONFIG)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert ended.returncode == 0, ended.stderr
