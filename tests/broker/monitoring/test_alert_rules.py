"""The alert rules in ops/: Prometheus accepts them, and they name metrics that exist."""

import re
import subprocess
from pathlib import Path

import pytest

from barnabas.broker.monitoring.registry import METRICS
from tests.support.machine import find_tool, missing

RULES = Path(__file__).resolve().parents[3] / "ops" / "prometheus-alerts.yml"
_NAME = re.compile(r"\b(?:kafka|barnabas|process)_[a-z_]+\b")


def test_rules_are_about_metrics_of_a_node() -> None:
    lines = [line for line in RULES.read_text().splitlines() if "expr:" in line]
    named = {name.removesuffix("_bucket") for line in lines for name in _NAME.findall(line)}
    assert len(named) > 10
    assert named <= METRICS.keys()


def test_prometheus_accepts_the_rules() -> None:
    promtool = find_tool("promtool")
    if promtool is None:
        pytest.skip(missing("promtool"))
    command = [promtool, "check", "rules", RULES]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
