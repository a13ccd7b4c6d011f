"""The package protobuf: an extra, which only compiled files need."""

from types import ModuleType

from barnabas.registry.model.checks import UnusableSchemaError


def descriptor_module() -> ModuleType:
    """`google.protobuf.descriptor_pb2`. Raises `UnusableSchemaError`."""
    try:
        from google.protobuf import descriptor_pb2
    except ImportError:
        raise UnusableSchemaError(
            "compiled Protobuf schemas need protobuf where the registry runs: "
            "pip install 'barnabas[schemas]'"
        ) from None
    found: ModuleType = descriptor_pb2
    return found


def default_json_name(name: str) -> str:
    """The name in JSON of a field that names none."""
    first, *others = name.split("_")
    return first + "".join(each[:1].upper() + each[1:] for each in others)


def entry_name(name: str) -> str:
    """The message that a compiled file has for the entries of a map."""
    return "".join(each[:1].upper() + each[1:] for each in name.split("_")) + "Entry"
