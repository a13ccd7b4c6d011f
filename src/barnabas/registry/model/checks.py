"""What the registry needs from the kinds of schemas."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from barnabas.registry.model.contents import Reference, SchemaContent
from barnabas.registry.model.entries import SchemaVersion

Resolve: TypeAlias = Callable[[Reference], SchemaContent]
"""Finds the schema of a reference, whose subject is qualified. Raises LookupError."""


class UnusableSchemaError(ValueError):
    """Why a schema is refused; it names the field."""


class SchemaChecks(Protocol):
    """The kinds of schemas, and how each is read and compared."""

    kinds: Sequence[str]

    def canonical(self, content: SchemaContent, resolve: Resolve, *, normalize: bool) -> str:
        """The text as it is stored. Raises `UnusableSchemaError`."""

    def formatted(self, content: SchemaContent, form: str, resolve: Resolve) -> str:
        """The text in another form, such as `serialized` or `resolved`.

        One that the kind does not have gives the text as it is. Raises `UnusableSchemaError`.
        """

    def incompatibilities(
        self,
        content: SchemaContent,
        earlier: Sequence[SchemaVersion],
        level: str,
        resolve: Resolve,
    ) -> list[str]:
        """Why it may not follow these versions, the latest last; empty if it may."""
