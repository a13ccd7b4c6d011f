"""Which rights this client lacks, as brokers answer requests that change nothing.

Brokers tell a client what it may do with a topic (Metadata), and check a request's rights before
anything else. So a heartbeat of a member that does not exist says whether the client may join a
group, the end of a transaction of an unknown producer whether it may use a transactional id, and
the check of a new topic whether it may create one. Any Kafka since 2.3 answers them.

What can't be asked without a change, such as settings of a group, is not looked at.
"""

from collections.abc import Iterable, Sequence

from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.rights.right import Right
from barnabas.errors import NotAuthorized
from barnabas.wire.acl_codes import AclOperation, ResourceType
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

_MEMBER = "barnabas-rights-check"
_NO_PRODUCER = -1
_NOT_SAID = -(2**31)
_CREATE_MS = 10_000
_DENIED = (
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)
_BUSY = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_CONTROLLER,
)


async def missing_rights(cluster: ClusterClient, rights: Sequence[Right]) -> list[Right]:
    """Those that brokers deny, in their order. Raises what keeps brokers from answering."""
    denied = set(await _denied_topics(cluster, rights))
    for each in rights:
        if await _is_denied(cluster, each):
            denied.add(each)
    return [each for each in rights if each in denied]


async def _denied_topics(cluster: ClusterClient, rights: Iterable[Right]) -> list[Right]:
    about = [each for each in rights if each.resource_type is ResourceType.TOPIC]
    names = list(dict.fromkeys(each.sample for each in about))
    if not names:
        return []
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )
    answer = await cluster.retrying(lambda: cluster.ask_any(request))
    found = {each.name: each for each in answer.topics}
    hidden = {
        name
        for name, each in found.items()
        if each.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    }
    absent = {name for name, each in found.items() if each.error_code}
    creatable = {each.sample for each in about if each.if_missing and each.sample in absent}
    refused = await _not_creatable(cluster, creatable)
    denied = []
    for each in about:
        name = each.sample
        if each.if_missing:
            is_denied = name in refused
        elif name in hidden:
            is_denied = True
        else:
            bits = found[name].topic_authorized_operations if name in found else _NOT_SAID
            is_denied = bits != _NOT_SAID and not bits >> each.operation & 1
        if is_denied:
            denied.append(each)
    return denied


async def _not_creatable(cluster: ClusterClient, names: set[str]) -> set[str]:
    if not names:
        return set()
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)
            for name in sorted(names)
        ],
        timeout_ms=_CREATE_MS,
        validate_only=True,
    )

    async def attempt() -> set[str]:
        answer = await (await cluster.controller()).send(request)
        for each in answer.topics:
            if each.error_code in _BUSY:
                check(each.error_code, f"topic {each.name}", each.error_message)
        return {each.name for each in answer.topics if each.error_code in _DENIED}

    return await cluster.retrying(attempt)


async def _is_denied(cluster: ClusterClient, right: Right) -> bool:
    if right.resource_type is ResourceType.GROUP and right.operation is AclOperation.READ:
        return await _is_group_denied(cluster, right.sample)
    if (
        right.resource_type is ResourceType.TRANSACTIONAL_ID
        and right.operation is AclOperation.WRITE
    ):
        return await _is_id_denied(cluster, right.sample)
    return False


async def _is_group_denied(cluster: ClusterClient, name: str) -> bool:
    async def attempt() -> int:
        request = HeartbeatRequest(group_id=name, generation_id=0, member_id=_MEMBER)
        code = (await (await cluster.coordinator(name)).send(request)).error_code
        if code in _BUSY:
            check(code, f"group {name}")
        return code

    try:
        return await cluster.retrying(attempt) in _DENIED
    except NotAuthorized:  # to find the coordinator
        return True


async def _is_id_denied(cluster: ClusterClient, name: str) -> bool:
    async def attempt() -> int:
        request = EndTxnRequest(
            transactional_id=name, producer_id=_NO_PRODUCER, producer_epoch=_NO_PRODUCER
        )
        code = (await (await cluster.transaction_coordinator(name)).send(request)).error_code
        if code in _BUSY:
            check(code, f"transactional id {name}")
        return code

    try:
        return await cluster.retrying(attempt) in _DENIED
    except NotAuthorized:
        return True
