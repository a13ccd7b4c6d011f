"""The dashboard has what Grafana demands of one: ids, places, data sources and variables."""

import json
import re
from itertools import combinations
from typing import Any

from tests.ops.monitoring import DASHBOARD

BOARD: dict[str, Any] = json.loads(DASHBOARD.read_text())
PANELS: list[dict[str, Any]] = BOARD["panels"]
_WIDTH = 24
_OF_GRAFANA = {"__rate_interval", "__interval", "__range", "__all"}


def test_it_can_be_provisioned() -> None:
    assert BOARD["uid"]
    assert len(BOARD["uid"]) <= 40
    assert BOARD["title"]
    assert BOARD["schemaVersion"] >= 36
    assert BOARD.get("id") is None, "Grafana gives it an id"
    assert BOARD["time"].keys() == {"from", "to"}


def test_panels_have_ids_and_places_of_their_own() -> None:
    ids = [panel["id"] for panel in PANELS]
    assert len(set(ids)) == len(ids)
    places = []
    for panel in PANELS:
        place = panel["gridPos"]
        assert 0 <= place["x"] <= _WIDTH - place["w"], panel["title"]
        places.append((panel["title"], place))
    for (one, a), (other, b) in combinations(places, 2):
        apart_x = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"]
        apart_y = a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"]
        assert apart_x or apart_y, f"{one} lies on {other}"


def test_queries_are_told_apart_and_have_a_source() -> None:
    for panel in PANELS:
        targets = panel.get("targets", [])
        assert bool(targets) == (panel["type"] != "row"), panel["title"]
        names = [target["refId"] for target in targets]
        assert len(set(names)) == len(names), panel["title"]
        for target in targets:
            source = target.get("datasource") or panel["datasource"]
            assert source["type"] == "prometheus", panel["title"]


def test_every_variable_is_defined() -> None:
    defined = {each["name"] for each in BOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps([PANELS, BOARD["templating"]])))
    assert used - _OF_GRAFANA <= defined
    assert defined <= used
