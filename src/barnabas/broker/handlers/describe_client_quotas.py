"""DescribeClientQuotas, versions 0-1: the limits of the users, client ids and addresses that match.

A component of the filter matches a name, the default, or any of both.
"""

from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices
from barnabas.metadata.client_quotas_image import QuotaEntity
from barnabas.metadata.image import MetadataImage
from barnabas.security.quotas.entity_filter import Component, EntityFilter, InvalidFilter
from barnabas.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    image: MetadataImage


def handle(
    node: Needs, request: DescribeClientQuotasRequest, context: RequestContext
) -> Slices[DescribeClientQuotasResponse]:
    quotas = node.image.client_quotas.quotas
    try:
        wanted = EntityFilter(
            (
                Component(each.entity_type, each.match_type, each.match)
                for each in request.components
            ),
            strict=request.strict,
        )
    except InvalidFilter as error:
        return DescribeClientQuotasResponse(0, error.error_code, str(error), None)

    def describe(entity: QuotaEntity) -> EntryData:
        limits = quotas.get(entity, {})
        return EntryData(
            [EntityData(*part) for part in entity],
            [ValueData(key, value) for key, value in sorted(limits.items())],
        )

    found = [entity for entity in quotas if wanted.matches(entity)]
    entries = yield from Slicer(context.version).each(found, describe)
    return DescribeClientQuotasResponse(error_message=None, entries=entries)
