"""`barnabas cluster upgrade` and `features`, of a cluster that has the newest levels already."""

import json

from barnabas.metadata.features import METADATA_VERSION, SUPPORTED
from tests.cli.conftest import Cli
from tests.support.wait import wait_until

NEWEST = SUPPORTED[METADATA_VERSION].newest


def level(cli: Cli) -> int:
    found = {each["feature"]: each for each in json.loads(cli.ok("cluster", "features", "--json"))}
    assert found.keys() == SUPPORTED.keys()
    assert found[METADATA_VERSION]["supported"] == list(SUPPORTED[METADATA_VERSION])
    return int(found[METADATA_VERSION]["level"])


def test_a_cluster_with_the_newest_level_has_nothing_to_raise(cli: Cli) -> None:
    wait_until(lambda: level(cli) == NEWEST, "the level of a new cluster is not raised")
    text = cli.ok("cluster", "features")
    assert f"{METADATA_VERSION} " in text
    plan = json.loads(cli.ok("cluster", "upgrade", "--plan", "--json"))
    assert (plan["level"], plan["before"], plan["wanted"]) == (NEWEST, NEWEST, NEWEST)
    assert plan["nodes"][0]["supported"][METADATA_VERSION] == list(SUPPORTED[METADATA_VERSION])
    assert cli.ok("cluster", "upgrade").splitlines()[0].split() == [
        "NODE",
        "RELEASE",
        METADATA_VERSION.upper(),
    ]


def test_a_level_is_not_raised_beyond_a_node_and_not_lowered(cli: Cli) -> None:
    error = cli.fails(1, "cluster", "upgrade", "--to", str(NEWEST + 1), "--yes")
    assert f"node 1 supports {SUPPORTED[METADATA_VERSION]}: install a newer release" in error
    assert "is never lowered" in cli.fails(1, "cluster", "upgrade", "--to", "1")
