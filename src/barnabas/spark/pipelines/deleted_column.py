"""The column of rows for a table that says whether a row deletes the one with its key."""

from typing import Final

DELETED: Final = "barnabas_deleted"
