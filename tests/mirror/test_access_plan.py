"""ACLs and quotas of the target: decisions."""

from barnabas.client.admin.acls import AclBinding
from barnabas.client.admin.quotas import QuotaDescription, QuotaEntity
from barnabas.mirror.access_plan import changed_quotas, copied_acls
from barnabas.mirror.flow import ClusterEnd, Flow, Names

A, B = ClusterEnd("A", "a:9092"), ClusterEnd("B", "b:9092")
ALICE, BOB = QuotaEntity("alice"), QuotaEntity("bob")


def copied(flow: Flow, *rules: AclBinding) -> set[AclBinding]:
    prefix = "" if flow.names is Names.IDENTITY else "A."
    flowing = {name: f"{prefix}{name}" for name in ("orders", "orders-old")}
    return {AclBinding.of(each) for each in copied_acls(flow, [r.acl for r in rules], flowing)}


def test_rules_follow_their_topic() -> None:
    rules = (
        AclBinding("User:alice", "READ", "TOPIC", "orders"),
        AclBinding("User:alice", "READ", "TOPIC", "other"),
        AclBinding("User:alice", "READ", "GROUP", "orders"),
    )
    assert copied(Flow(A, B), *rules) == {AclBinding("User:alice", "READ", "TOPIC", "A.orders")}


def test_rules_of_prefixes_become_rules_of_topics() -> None:
    rule = AclBinding("User:alice", "READ", "TOPIC", "orders", "PREFIXED")
    assert copied(Flow(A, B), rule) == {
        AclBinding("User:alice", "READ", "TOPIC", "A.orders"),
        AclBinding("User:alice", "READ", "TOPIC", "A.orders-old"),
    }
    everything = AclBinding("User:alice", "READ", "TOPIC", "*")
    assert copied(Flow(A, B), everything) == copied(Flow(A, B), rule)


def test_nobody_else_writes_topics_with_a_prefix() -> None:
    rules = (
        AclBinding("User:alice", "WRITE", "TOPIC", "orders"),
        AclBinding("User:bob", "ALL", "TOPIC", "orders"),
        AclBinding("User:eve", "ALL", "TOPIC", "orders", permission="DENY"),
    )
    assert copied(Flow(A, B), *rules) == {
        AclBinding("User:bob", "READ", "TOPIC", "A.orders"),
        AclBinding("User:eve", "ALL", "TOPIC", "A.orders", permission="DENY"),
    }
    assert copied(Flow(A, B, names=Names.IDENTITY), *rules) == set(rules)


def test_quotas_are_set_and_removed() -> None:
    source = [QuotaDescription(ALICE, {"producer_byte_rate": 100.0, "request_percentage": 5.0})]
    target = [
        QuotaDescription(ALICE, {"producer_byte_rate": 50.0, "request_percentage": 5.0}),
        QuotaDescription(BOB, {"producer_byte_rate": 1.0, "consumer_byte_rate": 2.0}),
    ]
    before = {(BOB, "producer_byte_rate")}
    assert changed_quotas(source, target, before) == {
        ALICE: {"producer_byte_rate": 100.0},
        BOB: {"producer_byte_rate": None},
    }
