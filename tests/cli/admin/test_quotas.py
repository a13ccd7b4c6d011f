"""`barnabas quotas`."""

from uuid import uuid4

from tests.cli.conftest import Cli


def test_set_list_and_remove(cli: Cli) -> None:
    user = f"user-{uuid4().hex[:8]}"
    assert cli.ok("quotas", "set", "producer_byte_rate=1048576", "--user", user) == ""
    changed = cli.json(
        "quotas", "set", "request_percentage=12.5", "consumer_byte_rate=5", "--user", user,
        "--client-defaults",
    )  # fmt: skip
    limits = {"request_percentage": 12.5, "consumer_byte_rate": 5}
    assert changed == {"user": user, "client_id": "<default>", "set": limits}
    assert cli.json("quotas", "list", "--user", user) == [
        {"user": user, "limits": {"producer_byte_rate": 1048576}},
        {"user": user, "client_id": "<default>", "limits": limits},
    ]
    shown = [line.split() for line in cli.ok("quotas", "list").splitlines()]
    assert [user, "-", "-", "producer_byte_rate", "1048576"] in shown
    assert [user, "<default>", "-", "request_percentage", "12.5"] in shown
    assert cli.json("quotas", "remove", "--user", user) == {
        "user": user,
        "removed": ["producer_byte_rate"],
    }
    cli.ok("quotas", "remove", "request_percentage", "--user", user, "--client-defaults")
    assert cli.json("quotas", "list", "--user", user, "--client-defaults") == [
        {"user": user, "client_id": "<default>", "limits": {"consumer_byte_rate": 5}}
    ]
    cli.ok("quotas", "remove", "--user", user, "--client-defaults")
    assert "no quota of user" in cli.fails(1, "quotas", "remove", "--user", user)


def test_addresses(cli: Cli) -> None:
    cli.ok("quotas", "set", "connection_creation_rate=100", "--ip", "192.0.2.7")
    assert cli.json("quotas", "list", "--ip", "192.0.2.7") == [
        {"address": "192.0.2.7", "limits": {"connection_creation_rate": 100}}
    ]
    cli.ok("quotas", "remove", "--ip", "192.0.2.7")


def test_what_is_refused(cli: Cli) -> None:
    rate = "producer_byte_rate=1"
    assert "needs a user" in cli.fails(2, "quotas", "set", rate)
    assert "not both" in cli.fails(2, "quotas", "set", rate, "--user", "a", "--user-defaults")
    assert "for an address, or" in cli.fails(2, "quotas", "set", rate, "--user", "a", "--ip", "b")
    assert "expected a number" in cli.fails(2, "quotas", "set", "x=y", "--user", "a")
    assert "Invalid configuration key x" in cli.fails(1, "quotas", "set", "x=1", "--user", "a")
    below = cli.fails(1, "quotas", "set", "producer_byte_rate=-1", "--user", "a")
    assert "must be greater than 0" in below
