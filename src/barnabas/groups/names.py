"""Which names of groups, protocols and instances can be kept in a record."""

from re import compile as pattern

from barnabas.wire.errors import ErrorCode

MAX_NAME_LENGTH = 8_191
"""Of four bytes each, that many characters fit the int16 length of a record's string."""

MAX_CLIENT_ID_IN_MEMBER_ID = 255
"""A member id begins with the client id, for the human eye; a long one is cut."""

_INSTANCE_ID = pattern(r"[a-zA-Z0-9._-]{1,249}")


def check_group_id(group_id: str) -> ErrorCode:
    """Any name goes that fits a record; the empty one is for commits and fetches only."""
    return ErrorCode.INVALID_GROUP_ID if len(group_id) > MAX_NAME_LENGTH else ErrorCode.NONE


def is_instance_id(name: str) -> bool:
    """The same rule as for topics."""
    return name not in (".", "..") and _INSTANCE_ID.fullmatch(name) is not None
