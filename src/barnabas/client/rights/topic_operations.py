"""What this client may do with a topic, as brokers say."""

from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

_NOT_SAID = -(2**31)


async def topic_operations(cluster: ClusterClient, topic: str) -> frozenset[AclOperation]:
    """All of them where brokers do not say; none for a topic that the client may not see."""
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=topic)],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )

    async def attempt() -> frozenset[AclOperation]:
        answer = await cluster.ask_any(request)
        found = next((each for each in answer.topics if each.name == topic), None)
        if found is None or found.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return frozenset()
        check(found.error_code, f"topic {topic}")
        bits = found.topic_authorized_operations
        return frozenset(each for each in AclOperation if bits == _NOT_SAID or bits >> each & 1)

    return await cluster.retrying(attempt)
