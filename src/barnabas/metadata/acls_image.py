"""The access rules that the cluster has agreed on."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from barnabas.metadata.acl import Acl
from barnabas.wire.messages.metadata_records import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
)


def recorded(record: AccessControlEntryRecord) -> Acl:
    """The rule of a record."""
    return Acl(
        record.resource_type,
        record.resource_name,
        record.pattern_type,
        record.principal,
        record.host,
        record.operation,
        record.permission_type,
    )


@dataclass(slots=True)
class AclsImage:
    """Rules by id, and ids by rule: no rule is there twice."""

    by_id: dict[bytes, Acl] = field(default_factory=dict)
    ids: dict[Acl, bytes] = field(default_factory=dict)

    def replay(self, record: AccessControlEntryRecord | RemoveAccessControlEntryRecord) -> None:
        if isinstance(record, AccessControlEntryRecord):
            acl = recorded(record)
            self.by_id[record.id] = acl
            self.ids[acl] = record.id
        else:
            del self.ids[self.by_id.pop(record.id)]

    def clear(self) -> None:
        self.by_id.clear()
        self.ids.clear()

    def copy(self) -> "AclsImage":
        return AclsImage(self.by_id.copy(), self.ids.copy())

    def records(self) -> Iterator[AccessControlEntryRecord]:
        for acl_id, acl in self.by_id.items():
            yield AccessControlEntryRecord(acl_id, *acl)
