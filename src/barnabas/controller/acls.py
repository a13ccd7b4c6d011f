"""CreateAcls and DeleteAcls: changes of the access rules.

Checks and messages are Kafka's. A rule that is there already is created without a change.
"""

from barnabas.controller.decision import Refusal
from barnabas.controller.draft import Draft
from barnabas.metadata.acl import Acl, AclFilter
from barnabas.wire.acl_codes import (
    CLUSTER_NAME,
    AclOperation,
    AclPermission,
    PatternType,
    ResourceType,
)
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from barnabas.wire.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from barnabas.wire.messages.metadata_records import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
)

MAX_CHANGES = 10_000
"""Rules that one request may create or delete: a decision has to stay short."""
_MAX_COMPARISONS = 500_000
"""Of filters with rules, in one request; a filter that names one rule compares none."""


def create_acls(
    draft: Draft, request: CreateAclsRequest, new_ids: "list[bytes]"
) -> CreateAclsResponse:
    """Create the valid rules of a request; `new_ids` has an id for each."""
    if len(request.creations) > MAX_CHANGES:
        refusal = AclCreationResult(
            ErrorCode.INVALID_REQUEST,
            f"{len(request.creations)} rules in one request, the limit is {MAX_CHANGES}",
        )
        return CreateAclsResponse(results=[refusal] * len(request.creations))
    results = []
    for creation, new_id in zip(request.creations, new_ids, strict=True):
        try:
            acl = _checked(creation)
        except Refusal as refused:
            results.append(AclCreationResult(refused.error_code, refused.message))
            continue
        if acl not in draft.image.acls.ids:
            draft.write(AccessControlEntryRecord(new_id, *acl))
        results.append(AclCreationResult())
    return CreateAclsResponse(results=results)


def delete_acls(draft: Draft, request: DeleteAclsRequest) -> DeleteAclsResponse:
    """Delete the rules that match any of the filters."""
    results = []
    wide = 0
    most_wide = max(1, _MAX_COMPARISONS // max(1, len(draft.image.acls.by_id)))
    for asked in request.filters:
        try:
            wanted = _filter(asked)
            wide += wanted.only is None
            if wanted.only is None and wide > most_wide:
                raise _invalid(
                    f"the limit is {most_wide} filters that do not name one rule each; send "
                    "fewer at a time"
                )
            results.append(_deleted(draft, wanted))
        except Refusal as refused:
            results.append(DeleteAclsFilterResult(refused.error_code, refused.message))
    return DeleteAclsResponse(filter_results=results)


def _deleted(draft: Draft, wanted: AclFilter) -> DeleteAclsFilterResult:
    acls = draft.image.acls
    if wanted.only is not None:
        acl_id = acls.ids.get(wanted.only)
        found = [] if acl_id is None else [(acl_id, wanted.only)]
    else:
        found = [(acl_id, acl) for acl_id, acl in acls.by_id.items() if wanted.matches(acl)]
    if len(draft.records) + len(found) > MAX_CHANGES:
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            f"{len(found)} rules match, a request may delete {MAX_CHANGES}; use a narrower filter",
        )
    for acl_id, _ in found:
        draft.write(RemoveAccessControlEntryRecord(acl_id))
    return DeleteAclsFilterResult(
        matching_acls=[DeleteAclsMatchingAcl(0, None, *acl) for _, acl in found]
    )


def _checked(creation: AclCreation) -> Acl:
    acl = Acl(
        creation.resource_type,
        creation.resource_name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )
    if not _is_known(ResourceType, acl.resource_type) or acl.resource_type == ResourceType.ANY:
        raise _invalid(f"Invalid resourceType {_name(ResourceType, acl.resource_type)}")
    if acl.resource_type == ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        raise _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if acl.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise _invalid(f"Invalid patternType {_name(PatternType, acl.pattern_type)}")
    if not _is_known(AclOperation, acl.operation) or acl.operation == AclOperation.ANY:
        raise _invalid(f"Invalid operation {_name(AclOperation, acl.operation)}")
    if acl.permission not in (AclPermission.DENY, AclPermission.ALLOW):
        raise _invalid(f"Invalid permissionType {_name(AclPermission, acl.permission)}")
    if not acl.resource_name:
        raise _invalid("Resource name should not be empty")
    if ":" not in acl.principal:
        raise _invalid(
            f"Could not parse principal from `{acl.principal}` (no colon is present separating "
            "the principal type from the principal name)"
        )
    if not acl.host:
        raise _invalid("Host should not be empty; use * for every host")
    return acl


def _filter(asked: DeleteAclsFilter) -> AclFilter:
    if not _is_known(ResourceType, asked.resource_type_filter) or not _is_known(
        PatternType, asked.pattern_type_filter
    ):
        raise _invalid("Unknown patternFilter.")
    if not _is_known(AclOperation, asked.operation) or not _is_known(
        AclPermission, asked.permission_type
    ):
        raise _invalid("Unknown entryFilter.")
    return AclFilter(
        asked.resource_type_filter,
        asked.resource_name_filter,
        asked.pattern_type_filter,
        asked.principal_filter,
        asked.host_filter,
        asked.operation,
        asked.permission_type,
    )


Codes = type[ResourceType] | type[PatternType] | type[AclOperation] | type[AclPermission]


def _is_known(codes: Codes, code: int) -> bool:
    return 0 < code <= max(codes)


def _name(codes: Codes, code: int) -> str:
    return codes(code).name if 0 <= code <= max(codes) else "UNKNOWN"


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, message)
