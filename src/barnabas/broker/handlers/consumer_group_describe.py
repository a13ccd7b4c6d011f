"""ConsumerGroupDescribe, versions 0-1: state, members and assignments of consumer groups."""

from barnabas.broker.handlers.described_groups import Needs, describe_each
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slices
from barnabas.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)


def handle(
    node: Needs, request: ConsumerGroupDescribeRequest, context: RequestContext
) -> Slices[ConsumerGroupDescribeResponse]:
    return describe_each(
        node,
        request,
        context,
        lambda shard, group_id: shard.consumer.describe(group_id),
        lambda member: (member.assignment, member.target_assignment),
        DescribedGroup,
    )
