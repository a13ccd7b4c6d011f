"""What a restore leaves to do: each line has the command that does it."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import barnabas
from barnabas.backup.left_to_do import acl_command, quota_command
from barnabas.client.admin.quotas import QuotaEntity
from barnabas.metadata.acl import Acl
from barnabas.wire.acl_codes import AclOperation, AclPermission, PatternType, ResourceType
from tests.backup.support import backup, environment
from tests.support.access import AUTHORIZER
from tests.support.broker import BrokerProcess
from tests.support.wait import LIMIT_S


def run(command: str, bootstrap: str, stdin: str = "") -> None:
    words = shlex.split(command)
    assert words[0] == "barnabas"
    done = subprocess.run(
        [sys.executable, "-m", *words],
        input=stdin,
        capture_output=True,
        text=True,
        env=environment(bootstrap),
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A node with users and rules, and an empty one with an administrator of its own."""
    settings = {**AUTHORIZER, "super.users": "User:ANONYMOUS"}
    with (
        BrokerProcess(tmp_path / "old", settings) as old,
        BrokerProcess(tmp_path / "new", settings) as new,
    ):
        for bootstrap, names in ((old.bootstrap, ("admin", "alice")), (new.bootstrap, ("admin",))):
            with barnabas.Admin(bootstrap) as admin:
                for name in names:
                    admin.set_password(name, "secret-of-all")
        yield old.bootstrap, new.bootstrap


def test_users_are_added_by_the_commands_that_are_named(
    nodes: tuple[str, str], tmp_path: Path
) -> None:
    old, new = nodes
    one = "barnabas users add 'bob builder' --mechanism SCRAM-SHA-256"
    run(one, old, "secret-of-bob\n")
    place = str(tmp_path / "backup")
    backup("create", place, bootstrap=old)
    done = backup("restore", place, bootstrap=new)
    commands = re.findall(r"`(barnabas users .*?)`", done.stdout + done.stderr)
    assert commands == ["barnabas users add alice", one]  # not the administrator, who is there
    for each in commands:
        run(each, new, "another-secret\n")
    with barnabas.Admin(old) as before, barnabas.Admin(new) as after:
        assert _mechanisms(before) == _mechanisms(after)


def _mechanisms(admin: barnabas.Admin) -> dict[str, dict[str, int]]:
    return {name: dict(each.mechanisms) for name, each in admin.users().items()}


def test_rules_are_added_by_the_commands_that_are_named(
    nodes: tuple[str, str], target: str, tmp_path: Path
) -> None:
    """An open cluster takes none."""
    old, new = nodes
    rules = [
        barnabas.AclBinding("User:shop", "READ", "TOPIC", "orders"),
        barnabas.AclBinding("User:*", "ALL", "GROUP", "the shop's", pattern_type="PREFIXED"),
        barnabas.AclBinding("User:eve", "WRITE", "TOPIC", "*", permission="DENY", host="10.0.0.9"),
        barnabas.AclBinding("User:ops", "ALTER_CONFIGS", "CLUSTER", "kafka-cluster"),
    ]
    with barnabas.Admin(old) as admin:
        admin.create_acls(rules)
    place = str(tmp_path / "backup")
    backup("create", place, bootstrap=old)
    done = backup("restore", place, bootstrap=target)
    commands = re.findall(r"`(barnabas acls .*?)`", done.stdout + done.stderr)
    assert len(commands) == len(rules)
    for each in commands:
        run(each, new)
    with barnabas.Admin(old) as before, barnabas.Admin(new) as after:
        assert sorted(map(str, before.acls())) == sorted(map(str, after.acls()))


@pytest.mark.parametrize(
    ("entity", "words"),
    [
        (QuotaEntity("alice", "<default>"), "--user alice --client-defaults"),
        (QuotaEntity("<default>"), "--user-defaults"),
        (QuotaEntity(address="10.0.0.9"), "--ip 10.0.0.9"),
    ],
)
def test_quotas(entity: QuotaEntity, words: str) -> None:
    limits = {"producer_byte_rate": 1048576.0, "request_percentage": 12.5}
    assert quota_command(entity, limits) == (
        f"barnabas quotas set producer_byte_rate=1048576 request_percentage=12.5 {words}"
    )


def test_a_token_and_a_principal_that_is_no_user() -> None:
    acl = Acl(
        ResourceType.DELEGATION_TOKEN,
        "t",
        PatternType.LITERAL,
        "Group:ops",
        "*",
        AclOperation.DESCRIBE,
        AclPermission.ALLOW,
    )
    assert acl_command(acl) == "barnabas acls add Group:ops describe --delegation-token t"
