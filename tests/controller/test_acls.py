"""Access rules are created once, checked as Kafka checks them, and deleted by filters."""

import pytest

from barnabas.metadata.acl import Acl, AclFilter
from barnabas.wire.acl_codes import AclOperation, AclPermission, PatternType, ResourceType
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_acls import AclCreation, AclCreationResult, CreateAclsRequest
from barnabas.wire.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsRequest,
)
from tests.controller.small_cluster import SmallCluster
from tests.support.steps import at_most_steps

ORDERS = Acl(
    ResourceType.TOPIC,
    "orders",
    PatternType.LITERAL,
    "User:alice",
    "*",
    AclOperation.READ,
    AclPermission.ALLOW,
)
PREFIXED = ORDERS._replace(resource_name="ord", pattern_type=PatternType.PREFIXED)
ALL = ORDERS._replace(resource_name="*", permission=AclPermission.DENY)
GROUP = ORDERS._replace(resource_type=ResourceType.GROUP, principal="User:bob")


def created(cluster: SmallCluster, *acls: Acl) -> list[AclCreationResult]:
    request = CreateAclsRequest([AclCreation(*acl) for acl in acls])
    return cluster.agree(cluster.controller.create_acls(request)).results


def deleted(cluster: SmallCluster, *filters: AclFilter) -> list[DeleteAclsFilterResult]:
    request = DeleteAclsRequest([DeleteAclsFilter(*each) for each in filters])
    return cluster.agree(cluster.controller.delete_acls(request)).filter_results


def rules(cluster: SmallCluster) -> set[Acl]:
    return set(cluster.agreed.acls.by_id.values())


def test_a_rule_is_created_once() -> None:
    cluster = SmallCluster()
    assert [result.error_code for result in created(cluster, ORDERS, ALL, ORDERS)] == [0, 0, 0]
    created(cluster, ORDERS)
    assert len(cluster.agreed.acls.by_id) == 2
    assert rules(cluster) == {ORDERS, ALL}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (ORDERS._replace(resource_type=ResourceType.ANY), "Invalid resourceType ANY"),
        (ORDERS._replace(resource_type=99), "Invalid resourceType UNKNOWN"),
        (ORDERS._replace(pattern_type=PatternType.MATCH), "Invalid patternType MATCH"),
        (ORDERS._replace(operation=AclOperation.ANY), "Invalid operation ANY"),
        (ORDERS._replace(permission=AclPermission.ANY), "Invalid permissionType ANY"),
        (ORDERS._replace(resource_name=""), "Resource name should not be empty"),
        (ORDERS._replace(principal="alice"), "Could not parse principal from `alice`"),
        (ORDERS._replace(host=""), "Host should not be empty"),
        (
            ORDERS._replace(resource_type=ResourceType.CLUSTER),
            "The only valid name for the CLUSTER resource is kafka-cluster",
        ),
    ],
)
def test_a_wrong_rule_is_refused_and_the_others_created(wrong: Acl, message: str) -> None:
    cluster = SmallCluster()
    refused, fine = created(cluster, wrong, GROUP)
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    assert refused.error_message is not None
    assert refused.error_message.startswith(message)
    assert fine.error_code == 0
    assert rules(cluster) == {GROUP}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (AclFilter(), {ORDERS, PREFIXED, ALL, GROUP}),
        (AclFilter(ResourceType.TOPIC), {ORDERS, PREFIXED, ALL}),
        (AclFilter(resource_name="orders"), {ORDERS, GROUP}),
        (AclFilter(ResourceType.TOPIC, "orders", PatternType.MATCH), {ORDERS, PREFIXED, ALL}),
        (AclFilter(ResourceType.TOPIC, "ord", PatternType.PREFIXED), {PREFIXED}),
        (AclFilter(ResourceType.TOPIC, "ord", PatternType.LITERAL), set()),
        (AclFilter(ResourceType.TOPIC, "x", PatternType.MATCH), {ALL}),
        (AclFilter(principal="User:bob"), {GROUP}),
        (AclFilter(host="10.0.0.1"), set()),
        (AclFilter(operation=AclOperation.WRITE), set()),
        (AclFilter(permission=AclPermission.DENY), {ALL}),
    ],
)
def test_a_filter_deletes_what_it_matches(wanted: AclFilter, expected: set[Acl]) -> None:
    cluster = SmallCluster()
    created(cluster, ORDERS, PREFIXED, ALL, GROUP)
    (result,) = deleted(cluster, wanted)
    found = {
        Acl(
            each.resource_type,
            each.resource_name,
            each.pattern_type,
            each.principal,
            each.host,
            each.operation,
            each.permission_type,
        )
        for each in result.matching_acls
    }
    assert (result.error_code, found) == (0, expected)
    assert rules(cluster) == {ORDERS, PREFIXED, ALL, GROUP} - expected


def test_a_rule_is_deleted_by_the_first_filter_that_matches() -> None:
    cluster = SmallCluster()
    created(cluster, ORDERS)
    first, second = deleted(cluster, AclFilter(ResourceType.TOPIC), AclFilter())
    assert (len(first.matching_acls), len(second.matching_acls)) == (1, 0)


def test_unknown_codes_in_a_filter_are_refused() -> None:
    cluster = SmallCluster()
    created(cluster, ORDERS)
    pattern, entry = deleted(cluster, AclFilter(resource_type=0), AclFilter(operation=99))
    assert (pattern.error_code, pattern.error_message) == (
        ErrorCode.INVALID_REQUEST,
        "Unknown patternFilter.",
    )
    assert (entry.error_code, entry.error_message) == (
        ErrorCode.INVALID_REQUEST,
        "Unknown entryFilter.",
    )
    assert rules(cluster) == {ORDERS}


def test_many_filters_do_not_hold_the_controller_up() -> None:
    cluster = SmallCluster()
    acls = [ORDERS._replace(resource_name=f"topic-{number}") for number in range(5_000)]
    created(cluster, *acls)
    wide = [AclFilter(resource_name=f"none-{number}") for number in range(2_000)]
    results = deleted(cluster, *wide, AclFilter(*acls[-1]))
    refused = [result for result in results if result.error_code]
    assert len(refused) == 1_900, "500,000 comparisons are made"
    assert {result.error_code for result in refused} == {ErrorCode.INVALID_REQUEST}
    assert len(results[-1].matching_acls) == 1, "who names a rule needs none"
    with at_most_steps(1_000_000):  # 5 million if each filter were compared with each rule
        exact = deleted(cluster, *(AclFilter(*acl) for acl in acls[:1_000]))
    assert sum(len(result.matching_acls) for result in exact) == 1_000
    assert rules(cluster) == set(acls[1_000:-1])
