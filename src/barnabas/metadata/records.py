"""How an agreed change is written: as the value of a record in the metadata log.

Value: frame version uvarint (1), record type uvarint, record version uvarint, the message.
"""

import struct
from typing import get_args

from barnabas.wire.messages.metadata_records import (
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
)
from barnabas.wire.primitives import Buffer, WireError
from barnabas.wire.stored import StoredReader, StoredWriter

SecurityRecord = (
    UserScramCredentialRecord
    | RemoveUserScramCredentialRecord
    | AccessControlEntryRecord
    | RemoveAccessControlEntryRecord
    | ClientQuotaRecord
    | DelegationTokenRecord
    | RemoveDelegationTokenRecord
)
"""Users, access rules, quotas, delegation tokens."""

MetadataRecord = (
    RegisterBrokerRecord
    | UnregisterBrokerRecord
    | TopicRecord
    | PartitionRecord
    | ConfigRecord
    | PartitionChangeRecord
    | RemoveTopicRecord
    | ProducerIdsRecord
    | BrokerRegistrationChangeRecord
    | NoOpRecord
    | FeatureLevelRecord
    | SecurityRecord
)

_FRAME_VERSION = 1
_TYPES: dict[int, type[MetadataRecord]] = {
    record_type.RECORD_TYPE: record_type for record_type in get_args(MetadataRecord)
}


def encode_metadata_record(record: MetadataRecord) -> bytes:
    """The value under which `record` is kept, in the newest version of its type."""
    w = StoredWriter()
    w.uvarint(_FRAME_VERSION)
    w.uvarint(record.RECORD_TYPE)
    w.uvarint(record.MAX_VERSION)
    record.encode(w, record.MAX_VERSION)
    return w.getvalue()


def decode_metadata_record(value: Buffer) -> MetadataRecord:
    """Read what `encode_metadata_record` wrote, in any version of its type."""
    r = StoredReader(value)
    frame_version, record_type, version = r.uvarint(), r.uvarint(), r.uvarint()
    known = _TYPES.get(record_type)
    if frame_version != _FRAME_VERSION or known is None or version > known.MAX_VERSION:
        raise WireError(
            f"metadata record of type {record_type} version {version} (frame {frame_version}) "
            "was written by a newer release"
        )
    try:
        return known.decode(r, version)
    except (struct.error, UnicodeDecodeError) as error:
        raise WireError(f"malformed {known.__name__}: {error}") from error
