"""The names of the files in a partition's directory: most are an offset of twenty digits and a
suffix."""

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"
START_SUFFIX = ".start"

DELETED_SUFFIX = ".deleted"
"""Behind the name of a file that is about to be unlinked."""
CLEANED_SUFFIX = ".cleaned"
"""Behind the name that a file will get once it is complete."""

METADATA_FILE = "partition.metadata"
"""The topic that the directory belongs to; see `directory.partition_metadata`."""
_DIGITS = 20


def file_name(offset: int, suffix: str = LOG_SUFFIX) -> str:
    return f"{offset:020d}{suffix}"


def segment_path(directory: str, base_offset: int, suffix: str = LOG_SUFFIX) -> str:
    return f"{directory}/{base_offset:020d}{suffix}"


def offset_in(name: str, suffix: str) -> int | None:
    """The offset in the name of a file with this suffix; None if it is another kind of file."""
    if not name.endswith(suffix):
        return None
    digits = name[: -len(suffix)]
    return int(digits) if len(digits) == _DIGITS and digits.isdecimal() else None
