"""ShareGroupDescribe, version 1: state, members and assignments of share groups."""

from barnabas.broker.handlers.described_groups import Needs, describe_each
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slices
from barnabas.wire.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)


def handle(
    node: Needs, request: ShareGroupDescribeRequest, context: RequestContext
) -> Slices[ShareGroupDescribeResponse]:
    return describe_each(
        node,
        request,
        context,
        lambda shard, group_id: shard.share.describe(group_id),
        lambda member: (member.assignment,),
        DescribedGroup,
    )
