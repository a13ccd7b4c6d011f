"""A flow whose user may do less than its expressions say copies the topics that it may see."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.errors import NotAuthorized
from barnabas.mirror.configured_flow import ConfiguredFlow
from barnabas.mirror.flow import ClusterEnd, Flow, Names
from barnabas.mirror.rights_check import check_rights
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode
from tests.support.sasl import SECURITY

READ, WRITE, DESCRIBE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE
MAY_SEE = {READ, DESCRIBE}
OWN_GROUPS = ("barnabas-mirror.east->west", "barnabas-mirror.east->west.members")
SYNCS = "mm2-offset-syncs.east.internal"


class Cluster:
    """Answers as brokers do whose rules name these topics and groups exactly."""

    user = "mirror"

    def __init__(self, topics: dict[str, set[AclOperation]], groups: tuple[str, ...] = ()) -> None:
        self._topics = topics
        self._groups = groups

    async def refresh(self, names: list[str] | None) -> dict[str, Any]:
        shown = [*self._topics] if names is None else names
        denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return {
            name: SimpleNamespace(error_code=0 if name in self._topics else denied)
            for name in shown
        }

    async def retrying(self, attempt: Any) -> Any:
        return await attempt()

    async def ask_any(self, request: Any) -> Any:
        found = await self.refresh([each.name for each in request.topics])
        return SimpleNamespace(
            topics=[
                SimpleNamespace(
                    name=name,
                    error_code=each.error_code,
                    topic_authorized_operations=sum(1 << o for o in self._topics.get(name, ())),
                )
                for name, each in found.items()
            ]
        )

    async def coordinator(self, name: str) -> Any:
        async def send(_: Any) -> Any:
            denied = ErrorCode.GROUP_AUTHORIZATION_FAILED
            return SimpleNamespace(error_code=0 if name in self._groups else denied)

        return SimpleNamespace(send=send)

    async def transaction_coordinator(self, _: str) -> Any:
        async def send(_: Any) -> Any:
            return SimpleNamespace(error_code=0)

        return SimpleNamespace(send=send)

    async def controller(self) -> Any:
        async def send(request: Any) -> Any:
            denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            codes = [SimpleNamespace(name=e.name, error_code=denied) for e in request.topics]
            return SimpleNamespace(topics=codes)

        return SimpleNamespace(send=send)


def flow_of(*topics: str, names: Names = Names.PREFIX) -> ConfiguredFlow:
    ends = [ClusterEnd(name, f"{name}:1", SECURITY) for name in ("east", "west")]
    return ConfiguredFlow(Flow(*ends, topics, names=names))


def checked(
    mirrored: ConfiguredFlow,
    source: dict[str, set[AclOperation]],
    target: dict[str, set[AclOperation]],
    groups: tuple[str, ...] = OWN_GROUPS,
) -> None:
    target = {SYNCS: {READ, WRITE}} | target
    asyncio.run(
        check_rights(mirrored, cast("Any", Cluster(source)), cast("Any", Cluster(target, groups)))
    )


@pytest.mark.parametrize("expression", [".*", "orders[AB]", "ordersA|ordersB", "orders.*"])
@pytest.mark.parametrize("names", Names)
def test_what_the_source_lists_counts(expression: str, names: Names) -> None:
    mirrored = flow_of(expression, names=names)
    source = {"ordersA": MAY_SEE, "ordersB": MAY_SEE}
    prefix = "east." if names is Names.PREFIX else ""
    checked(mirrored, source, {f"{prefix}ordersA": {READ, WRITE}})
    with pytest.raises(NotAuthorized, match=r"in cluster east .*lacks 1 right") as denied:
        checked(mirrored, source | {"ordersB": {DESCRIBE}}, {})
    assert "acls add mirror read --topic ordersB" in str(denied.value)
    with pytest.raises(NotAuthorized, match=r"in cluster west .*lacks 1 right") as denied:
        checked(mirrored, source, {f"{prefix}ordersA": {READ, DESCRIBE}})
    assert f"acls add mirror write --topic {prefix}ordersA" in str(denied.value)


def test_names_count_as_they_are() -> None:
    mirrored = flow_of("orders")
    checked(mirrored, {"orders": MAY_SEE}, {"east.orders": {READ, WRITE}})
    with pytest.raises(NotAuthorized, match="read --topic orders"):
        checked(mirrored, {}, {"east.orders": {READ, WRITE}})
    with pytest.raises(NotAuthorized, match=r"read,write --topic east\. --prefixed"):
        checked(mirrored, {"orders": MAY_SEE}, {})


def test_groups_of_other_flows_are_not_demanded() -> None:
    source, target = {"orders": MAY_SEE}, {"orders": {READ, WRITE}}
    mirrored = flow_of(".*", names=Names.IDENTITY)
    checked(mirrored, source, target)
    with pytest.raises(NotAuthorized, match=r"read --group 'barnabas-mirror\.east->west'"):
        checked(mirrored, source, target, OWN_GROUPS[:1])


def test_a_flow_that_sees_nothing_says_which_right_it_lacks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    checked(flow_of(".*"), {"heartbeats": {DESCRIBE}}, {})
    (warned,) = caplog.messages
    assert "sees no topic of east" in warned
    assert "barnabas acls add mirror read --topic '*'" in warned
