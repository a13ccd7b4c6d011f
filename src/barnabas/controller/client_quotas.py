"""Quotas: setting and removing the limits of users, client ids and addresses.

An entity with an error anywhere keeps all its limits; other entities of the same request are
changed. An address is an IP address: Kafka also takes a host name, which it looks up.
"""

from collections import Counter
from ipaddress import ip_address

from barnabas.controller.decision import Refusal
from barnabas.controller.draft import Draft
from barnabas.metadata.client_quotas_image import IP, QuotaEntity, quota_entity
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.records import MetadataRecord
from barnabas.security.quotas.quota_key import (
    ENTITY_TYPES,
    InvalidQuota,
    QuotaKey,
    allowed_keys,
)
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages import metadata_records
from barnabas.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    EntryResult,
    OpData,
)
from barnabas.wire.messages.metadata_records import ClientQuotaRecord


def alter_client_quotas(
    draft: Draft, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse:
    counts = Counter(_entity(entry) for entry in request.entries)
    results: dict[QuotaEntity, EntryResult] = {}
    for entry in request.entries:
        entity = _entity(entry)
        result = results[entity] = EntryResult(ErrorCode.NONE, None, entry.entity)
        try:
            if counts[entity] > 1:
                raise _invalid("An entity cannot be altered twice in the same request")
            records = _records(draft.image, entity, entry)
        except Refusal as refusal:
            result.error_code, result.error_message = refusal.error_code, refusal.message
            continue
        if not request.validate_only:
            draft.write_all(records)
    return AlterClientQuotasResponse(entries=list(results.values()))


def _entity(entry: EntryData) -> QuotaEntity:
    return quota_entity((part.entity_type, part.entity_name) for part in entry.entity)


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, message)


def _records(image: MetadataImage, entity: QuotaEntity, entry: EntryData) -> list[MetadataRecord]:
    """Raises `Refusal`."""
    _check_entity(entry.entity)
    if len({op.key for op in entry.ops}) < len(entry.ops):
        raise _invalid("A quota key cannot be altered twice in the same entry")
    allowed = allowed_keys({part.entity_type for part in entry.entity})
    limits = image.client_quotas.quotas.get(entity, {})
    return [
        ClientQuotaRecord(
            [metadata_records.EntityData(*part) for part in entity],
            op.key,
            0.0 if op.remove else op.value,
            op.remove,
        )
        for op in entry.ops
        if _changes(op, limits, allowed)
    ]


def _check_entity(parts: list[EntityData]) -> None:
    if not parts:
        raise _invalid("Invalid empty client quota entity")
    types = {part.entity_type for part in parts}
    if len(types) < len(parts):
        raise _invalid("Invalid client quota entity, duplicate entity entry")
    for part in parts:
        if part.entity_type not in ENTITY_TYPES:
            raise _invalid(f"Unhandled client quota entity type: {part.entity_type}")
        if part.entity_name == "":
            raise _invalid(f"Empty {part.entity_type} not supported")
        if part.entity_type == IP and part.entity_name is not None:
            _check_address(part.entity_name)
    if IP in types and len(types) > 1:
        raise _invalid(f"Invalid client quota entity, {IP} can't be combined with others")


def _check_address(name: str) -> None:
    try:
        canonical = str(ip_address(name))
    except ValueError:
        raise _invalid(f"{name} is not a valid IP address") from None
    if canonical != name:
        raise _invalid(f"{name} is not how the address is compared; write it as {canonical}")


def _changes(op: OpData, limits: dict[str, float], allowed: dict[str, QuotaKey]) -> bool:
    """Whether a valid operation changes anything. Raises `Refusal`."""
    if op.remove:
        return op.key in limits
    key = allowed.get(op.key)
    if key is None:
        raise _invalid(f"Invalid configuration key {op.key}")
    try:
        key.check(op.value)
    except InvalidQuota as error:
        raise _invalid(str(error)) from None
    return limits.get(op.key) != op.value
