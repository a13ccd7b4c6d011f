import tracemalloc

import pytest

from barnabas.metadata.acl import Acl
from barnabas.security.address import canonical_address
from barnabas.security.authorizer.access_cache import AccessCache
from barnabas.security.authorizer.standard_authorizer import (
    DEFAULT_DENY,
    SUPER_USER,
    StandardAuthorizer,
)
from barnabas.security.principal import Principal
from barnabas.wire.acl_codes import AclOperation, AclPermission, PatternType, ResourceType
from tests.support.steps import at_most_steps

ALICE = Principal("User", "alice")
READ, TOPIC = AclOperation.READ, ResourceType.TOPIC


def rule(name: str, *, deny: bool = False, operation: int = READ, prefixed: bool = False) -> Acl:
    return Acl(
        TOPIC,
        name,
        PatternType.PREFIXED if prefixed else PatternType.LITERAL,
        "User:alice",
        "*",
        operation,
        AclPermission.DENY if deny else AclPermission.ALLOW,
    )


def test_a_change_of_the_rules_changes_the_answer() -> None:
    authorizer = StandardAuthorizer()
    access = AccessCache(authorizer).add(ALICE, "127.0.0.1")
    assert not access.allows(READ, TOPIC, "orders")
    authorizer.add(rule("orders"))
    assert access.allows(READ, TOPIC, "orders")
    assert access.allows_any(READ, TOPIC)
    authorizer.add(rule("ord", deny=True, prefixed=True))
    assert not access.allows(READ, TOPIC, "orders")
    assert not access.allows_any(READ, TOPIC)
    authorizer.replace([])
    assert not access.allows_any(READ, TOPIC)


def test_a_verdict_names_its_rule() -> None:
    authorizer = StandardAuthorizer([Principal("User", "root")])
    assert authorizer.decide(ALICE, "h", READ, TOPIC, "orders").decided_by == DEFAULT_DENY
    authorizer.add(rule("orders"))
    authorizer.add(rule("ord", deny=True, prefixed=True))
    assert str(authorizer.decide(ALICE, "h", READ, TOPIC, "orders")) == (
        "MatchingAcl(acl=StandardAcl[resourceType=TOPIC, resourceName=ord, patternType=PREFIXED, "
        "principal=User:alice, host=*, operation=READ, permissionType=DENY])"
    )
    root = Principal("User", "root")
    assert authorizer.decide(root, "h", READ, TOPIC, "orders").decided_by == SUPER_USER
    assert authorizer.explain(ALICE, "h", READ, TOPIC, "orders") == [
        rule("ord", deny=True, prefixed=True),
        rule("orders"),
    ]


def test_a_decision_is_found_without_looking_at_all_rules() -> None:
    authorizer = StandardAuthorizer()
    for number in range(20_000):
        authorizer.add(rule(f"topic-{number}"))
        authorizer.add(rule(f"prefix-{number}-", prefixed=True))
    access = AccessCache(authorizer).add(ALICE, "127.0.0.1")
    with at_most_steps(1_000_000):
        for number in range(2_000):
            assert access.allows(READ, TOPIC, f"prefix-{number}-x")
            assert not access.allows(READ, TOPIC, f"other-{number}")


def test_names_of_clients_take_no_more_room_than_they_may() -> None:
    """A client chooses the names it asks for, and may have many users."""
    cache = AccessCache(StandardAuthorizer())
    access = cache.add(ALICE, "127.0.0.1")
    assert not access.allows(READ, TOPIC, "known")
    tracemalloc.start()
    try:
        for number in range(20):
            assert not access.allows(READ, TOPIC, f"{number}" + "x" * 1_000_000)
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
        for user in range(8):
            mallory = cache.add(Principal("User", f"mallory-{user}"), "127.0.0.1")
            for number in range(15_000):
                assert not mallory.allows(READ, TOPIC, f"{number}")
        del mallory
        assert tracemalloc.get_traced_memory()[0] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("written", "client"),
    [
        ("0:0:0:0:0:0:0:1", "::1"),
        ("2001:DB8:0:0:0:0:0:7", "2001:db8::7"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("10.0.0.1", "10.0.0.1"),
        ("fe80:0:0:0:0:0:0:1%eth0", "fe80::1%eth0"),
    ],
)
def test_a_rule_is_about_an_address_however_it_is_written(written: str, client: str) -> None:
    authorizer = StandardAuthorizer()
    denied = rule("orders", deny=True)._replace(host=written)
    authorizer.add(rule("orders"))
    authorizer.add(denied)
    assert authorizer.decide(ALICE, client, READ, TOPIC, "orders") == (False, denied)
    assert authorizer.explain(ALICE, client, READ, TOPIC, "orders")[0] == denied
    assert not AccessCache(authorizer).add(ALICE, client).allows_any(READ, TOPIC)
    authorizer.remove(denied)
    assert authorizer.decide(ALICE, client, READ, TOPIC, "orders").allowed


@pytest.mark.parametrize("host", ["*", "?", "host1", "nonsense:1", "", "10.0.0.1"])
def test_other_text_is_compared_as_it_is(host: str) -> None:
    assert canonical_address(host) == host
