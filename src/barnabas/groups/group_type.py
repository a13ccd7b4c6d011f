"""The kinds of groups, named as in ListGroups."""

from enum import StrEnum


class GroupType(StrEnum):
    CLASSIC = "Classic"
    CONSUMER = "Consumer"
    SHARE = "Share"
