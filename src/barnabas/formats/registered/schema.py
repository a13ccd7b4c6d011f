"""A schema as a registry gives it."""

from typing import NamedTuple


class RegisteredSchema(NamedTuple):
    """`kind` is AVRO, PROTOBUF or JSON; references are definitions that it uses, by name."""

    id: int
    kind: str
    definition: str
    references: tuple[tuple[str, str], ...] = ()
