"""The files for Prometheus and Grafana in ops/."""

import json
from typing import Any

import yaml

from tests.ops.deployment import OPS

PROMETHEUS_CONFIG = OPS / "prometheus/prometheus.yml"
ALERTS = OPS / "prometheus/alerts.yml"
DASHBOARD = OPS / "grafana/dashboards/barnabas.json"


def alert_rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def dashboard_queries() -> list[str]:
    dashboard = json.loads(DASHBOARD.read_text())
    return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
