"""Which type the name of a type in a field means."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from barnabas.schemas.protobuf.elements import ProtoEnum, ProtoFile, ProtoMessage
from barnabas.schemas.protobuf.well_known import ENUMS, FILES

SCALARS = frozenset(
    {
        *("double", "float", "bool", "string", "bytes"),
        *("int32", "int64", "uint32", "uint64", "sint32", "sint64"),
        *("fixed32", "fixed64", "sfixed32", "sfixed64"),
    }
)


class ProtoType(NamedTuple):
    """A message or an enum, in the file being parsed or in one that it imports."""

    name: str
    """Full, without a dot in front."""
    package: str
    element: ProtoMessage | ProtoEnum | None
    """None for a type that comes with Protobuf."""
    is_enum: bool
    is_imported: bool

    @property
    def local_name(self) -> str:
        """Without the package."""
        return self.name.removeprefix(f"{self.package}.") if self.package else self.name


def types_of(file: ProtoFile, imported: Mapping[str, ProtoFile]) -> dict[str, ProtoType]:
    """All types that the file can use, by full name. `imported` are files by path."""
    found: dict[str, ProtoType] = {}
    paths = {*file.imports, *file.public_imports}
    for path, each in imported.items():
        paths |= {path, *each.imports, *each.public_imports}
        for type_ in _declared(each, is_imported=True):
            found[type_.name] = type_
    for path in paths:
        for name in FILES.get(path, ()):
            package = name.rpartition(".")[0]
            found.setdefault(name, ProtoType(name, package, None, name in ENUMS, True))
    for type_ in _declared(file, is_imported=False):
        found[type_.name] = type_
    return found


def _declared(file: ProtoFile, *, is_imported: bool) -> Iterator[ProtoType]:
    def inside(
        scope: str, messages: list[ProtoMessage], enums: list[ProtoEnum]
    ) -> Iterator[ProtoType]:
        for enum in enums:
            yield ProtoType(joined(scope, enum.name), file.package, enum, True, is_imported)
        for message in messages:
            name = joined(scope, message.name)
            yield ProtoType(name, file.package, message, False, is_imported)
            yield from inside(name, message.messages, message.enums)

    yield from inside(file.package, file.messages, file.enums)


def joined(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name


def find_type(types: Mapping[str, ProtoType], name: str, scope: str) -> ProtoType | None:
    """The type of a name in a message, from the innermost scope outwards."""
    if name.startswith("."):
        return types.get(name[1:])
    while True:
        found = types.get(joined(scope, name))
        if found is not None or not scope:
            return found
        scope = scope.rpartition(".")[0]
