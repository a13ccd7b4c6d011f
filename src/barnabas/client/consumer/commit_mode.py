"""When a message counts as done."""

from enum import Enum


class CommitMode(Enum):
    """By the names that users give."""

    AUTO = "auto"
    """When the next one is asked for."""

    DONE = "done"
    """When the application says so, in any order."""

    MANUAL = "manual"
    """When it was handed out: the application commits, and says so with that."""
