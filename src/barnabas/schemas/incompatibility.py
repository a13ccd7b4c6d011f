"""What a comparison of two schemas finds."""

from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """One reason why a reader can't read what a writer wrote.

    `kind` and `path` are those of Confluent's registry, for example
    `READER_FIELD_MISSING_DEFAULT_VALUE` at `/fields/2`. `field` is the path a person would use,
    for example `Order.customer.email`.
    """

    kind: str
    path: str
    field: str
    message: str
    old: str | None = None
    new: str | None = None
    version: int | None = None
    """The version of the subject that the schema was compared with."""

    def against(self, version: int | None, *, by_earlier: bool = False) -> Self:
        """`by_earlier`: the reader has the earlier schema, and the writer the new one."""
        message = f"for readers with the earlier schema, {self.message}" if by_earlier else None
        return replace(self, version=version, message=message or self.message)

    def __str__(self) -> str:
        where = f" (version {self.version})" if self.version is not None else ""
        return f"{self.message}{where}"
