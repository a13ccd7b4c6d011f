"""`barnabas acls`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas import AclBinding, Admin
from barnabas.errors import InvalidArgument
from tests.cli.conftest import Cli
from tests.support.access import AUTHORIZER
from tests.support.broker import BrokerProcess


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker with access rules, where who does not sign in is a super user."""
    settings = {**AUTHORIZER, "super.users": "User:root;User:ANONYMOUS"}
    with BrokerProcess(tmp_path_factory.mktemp("closed"), settings) as broker:
        yield broker


@pytest.fixture
def rules(closed: BrokerProcess) -> Iterator[Cli]:
    cli = Cli(closed.bootstrap)
    yield cli
    with Admin(closed.bootstrap) as admin:
        admin.delete_acls(admin.acls())


READ_ORDERS = {
    "principal": "User:alice",
    "operation": "READ",
    "resource_type": "TOPIC",
    "resource_name": "orders",
    "pattern_type": "LITERAL",
    "host": "*",
    "permission": "ALLOW",
}


def test_add_list_and_remove(rules: Cli) -> None:
    added = rules.json("acls", "add", "alice", "read,write", "--topic", "orders")
    assert added == {"added": [READ_ORDERS, {**READ_ORDERS, "operation": "WRITE"}]}
    rules.ok("acls", "add", "User:bob", "all", "--group", "team-", "--prefixed", "--deny")
    assert rules.json("acls", "list", "--user", "alice", "--topic", "orders") == added["added"]
    assert rules.ok("acls", "list", "--user", "bob").splitlines()[-1].split() == [
        "User:bob", "*", "DENY", "ALL", "GROUP", "team-", "PREFIXED",
    ]  # fmt: skip
    assert len(rules.json("acls", "list", "--group", "team-1")) == 1, "rules that concern it"
    removed = rules.json("acls", "remove", "alice", "read", "--topic", "orders")
    assert removed == {"removed": [READ_ORDERS]}
    assert "no such rule" in rules.fails(1, "acls", "remove", "alice", "read", "--topic", "orders")
    rules.ok("acls", "remove", "alice")
    rules.ok("acls", "remove", "bob", "--deny")
    assert rules.json("acls", "list") == []


def test_explain(rules: Cli) -> None:
    def explained(*arguments: str) -> str:
        return rules.ok("acls", "explain", *arguments)

    assert explained("alice", "read", "orders") == "denied: no rule is about this resource\n"
    assert explained("root", "read", "orders") == "allowed: the user is one of super.users\n"
    rules.ok("acls", "add", "alice", "read", "--topic", "orders", "--host", "10.0.0.1")
    assert explained("alice", "describe", "orders", "--host", "10.0.0.1") == (
        "allowed: ALLOW User:alice READ on topic orders from 10.0.0.1\n"
    )
    assert explained("alice", "read", "orders") == (
        "denied: 1 rule about this resource, but none for this user, host and operation\n"
        "  does not apply: ALLOW User:alice READ on topic orders from 10.0.0.1\n"
    )
    rules.ok("acls", "add", "*", "all", "--topic", "ord", "--prefixed", "--deny")
    assert explained("alice", "read", "orders", "--host", "10.0.0.1") == (
        "denied: DENY User:* ALL on every topic that begins with ord; a DENY overrules any ALLOW\n"
        "  applies too: ALLOW User:alice READ on topic orders from 10.0.0.1\n"
    )
    found = rules.json("acls", "explain", "alice", "alter", "--cluster")
    assert (found["allowed"], found["decided_by"]) == (False, "DefaultDeny")


def test_what_is_meant_has_to_be_said(rules: Cli) -> None:
    assert "unknown operation 'reed'" in rules.fails(
        2, "acls", "add", "alice", "reed", "--topic", "t"
    )
    missing = rules.run("acls", "add", "alice", "read")
    assert missing.returncode == 2
    assert b"name a topic" in missing.stderr
    both = rules.run("acls", "add", "alice", "read", "--topic", "t", "--group", "g")
    assert both.returncode == 2
    assert b"names one resource" in both.stderr


def test_without_an_authorizer(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as broker:
        assert "No Authorizer is configured" in Cli(broker.bootstrap).fails(1, "acls", "list")


def test_admin(closed: BrokerProcess) -> None:
    rule = AclBinding("User:alice", "read", "topic", "orders")
    with Admin(closed.bootstrap) as admin:
        admin.create_acls([rule, AclBinding("User:bob", "ALTER", "CLUSTER")])
        assert admin.acls(user="alice") == [AclBinding("User:alice", "READ", "TOPIC", "orders")]
        assert len(admin.delete_acls(admin.acls())) == 2
        assert admin.acls() == []
        with pytest.raises(InvalidArgument, match="unknown operation 'reed'"):
            admin.create_acls([AclBinding("User:alice", "reed", "TOPIC", "orders")])
