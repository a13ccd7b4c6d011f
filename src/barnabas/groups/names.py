"""Which names of groups, protocols and instances are valid."""

from re import compile as pattern

from barnabas.wire.errors import ErrorCode

MAX_NAME_LENGTH = 8_191
"""Characters of up to four bytes each that fit the int16 length of a string in a record."""

MAX_CLIENT_ID_IN_MEMBER_ID = 255
"""A member id begins with the client id, for readability; a long one is truncated."""

MAX_SUBSCRIBED_TOPICS = 20_000
"""Names in the subscription of one member of a newer protocol, which the coordinator goes through
at once. A regular expression may match more topics."""

_INSTANCE_ID = pattern(r"[a-zA-Z0-9._-]{1,249}")


def check_group_id(group_id: str) -> ErrorCode:
    """Any name is valid that fits a record; the empty one for commits and fetches only."""
    return ErrorCode.INVALID_GROUP_ID if len(group_id) > MAX_NAME_LENGTH else ErrorCode.NONE


def is_instance_id(name: str) -> bool:
    """The same rule as for topics."""
    return name not in (".", "..") and _INSTANCE_ID.fullmatch(name) is not None
