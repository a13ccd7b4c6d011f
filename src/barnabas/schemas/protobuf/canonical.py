"""The two texts of a Protobuf schema in a registry.

The canonical one has a fixed layout and no comments. The normalized one, which `normalize=true`
stores, also sorts fields, values, imports and options, and has full names of types. Messages stay
in their order: serializers write their positions.
"""

from collections.abc import Callable, Mapping, Sequence

from barnabas.schemas.protobuf.elements import (
    BareWord,
    NumberRange,
    OptionList,
    OptionMap,
    OptionValue,
    ProtoEnum,
    ProtoExtend,
    ProtoField,
    ProtoFile,
    ProtoMessage,
    ProtoOption,
    ProtoRpc,
    ProtoService,
    QuotedText,
    ReservedValue,
)
from barnabas.schemas.protobuf.names import SCALARS, ProtoType, find_type, joined

_LAST = {"default": 1, "json_name": 2}
_ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", "'": "\\'", '"': '\\"',
}  # fmt: skip


def canonical_text(file: ProtoFile) -> str:
    return _Writer(lambda name, _scope: name, normalize=False).file(file)


def normalized_text(file: ProtoFile, types: Mapping[str, ProtoType]) -> str:
    def full_name(name: str, scope: str) -> str:
        found = None if name in SCALARS else find_type(types, name, scope)
        return name if found is None else f".{found.name}"

    return _Writer(full_name, normalize=True).file(file)


class _Writer:
    def __init__(self, full_name: Callable[[str, str], str], *, normalize: bool) -> None:
        self._full_name = full_name
        self._normalize = normalize

    def file(self, file: ProtoFile) -> str:
        text = ""
        if file.syntax is not None and (file.is_proto3 or not self._normalize):
            text += f'syntax = "{file.syntax}";\n'
        if file.package:
            text += f"package {file.package};\n"
        imports = [f'import "{each}";\n' for each in self._paths(file.imports)]
        imports += [f'import public "{each}";\n' for each in self._paths(file.public_imports)]
        scope = file.package
        types = [self._message(each, joined(scope, each.name)) for each in file.messages]
        types += [self._enum(each) for each in file.enums]
        parts = (
            imports,
            self._option_lines(file.options),
            types,
            [self._extend(each, scope) for each in file.extends],
            [self._service(each, scope) for each in file.services],
        )
        return text + "".join("\n" + "".join(each) for each in parts if each)

    def _paths(self, paths: list[str]) -> list[str]:
        return sorted(set(paths)) if self._normalize else paths

    def _message(self, message: ProtoMessage, scope: str) -> str:
        fields = self._sorted(message.fields)
        oneofs = []
        for each in message.oneofs:
            lines = self._option_lines(each.options)
            inner = self._sorted(each.fields)
            members = [self._field(field, scope) for field in inner]
            oneofs.append((inner[0].number, _block(f"oneof {each.name}", [lines, members])))
        if self._normalize:
            oneofs.sort(key=lambda each: each[0])
        types = [self._message(each, joined(scope, each.name)) for each in message.messages]
        types += [self._enum(each) for each in message.enums]
        return _block(
            f"message {message.name}",
            [
                self._reserved(message.reserved),
                self._option_lines(message.options),
                [self._field(each, scope) for each in fields],
                [text for _, text in oneofs],
                self._extensions(message.extensions),
                [self._extend(each, scope) for each in message.extends],
                types,
            ],
        )

    def _enum(self, enum: ProtoEnum) -> str:
        values = list(enum.values)
        if self._normalize:
            values.sort(key=lambda each: (each.number, each.name))
        lines = self._reserved(enum.reserved) + self._option_lines(enum.options)
        for each in values:
            lines.append(f"{each.name} = {each.number}{self._options(each.options)};\n")
        return _block(f"enum {enum.name}", [lines])

    def _extend(self, extend: ProtoExtend, scope: str) -> str:
        fields = [self._field(each, scope) for each in self._sorted(extend.fields)]
        return _block(f"extend {self._full_name(extend.name, scope)}", [fields])

    def _service(self, service: ProtoService, scope: str) -> str:
        rpcs = [self._rpc(each, scope) for each in service.rpcs]
        return _block(f"service {service.name}", [self._option_lines(service.options), rpcs])

    def _rpc(self, rpc: ProtoRpc, scope: str) -> str:
        request = "stream " * rpc.streams_requests + self._full_name(rpc.request, scope)
        response = "stream " * rpc.streams_responses + self._full_name(rpc.response, scope)
        text = f"rpc {rpc.name} ({request}) returns ({response})"
        options = self._option_lines(rpc.options)
        return f"{text} {{\n{_indented(''.join(options))}}};\n" if options else f"{text};\n"

    def _field(self, field: ProtoField, scope: str) -> str:
        type_ = self._full_name(field.type, scope)
        if field.map_key is not None:
            type_ = f"map<{field.map_key}, {type_}>"
        label = f"{field.label} " if field.label is not None else ""
        options = sorted(field.options, key=lambda each: _LAST.get(each.name, 0))
        return f"{label}{type_} {field.name} = {field.number}{self._options(options)};\n"

    def _sorted(self, fields: Sequence[ProtoField]) -> Sequence[ProtoField]:
        return sorted(fields, key=lambda each: each.number) if self._normalize else fields

    def _reserved(self, reserved: list[list[ReservedValue]]) -> list[str]:
        if self._normalize:
            flat = [each for group in reserved for each in group]
            flat.sort(key=lambda each: (_first_number(each), self._range(each)))
            reserved = [[each] for each in flat]
        return [f"reserved {', '.join(map(self._range, each))};\n" for each in reserved]

    def _extensions(self, extensions: list[list[NumberRange]]) -> list[str]:
        if self._normalize:
            flat = sorted(
                (each for group in extensions for each in group), key=lambda each: each.first
            )
            extensions = [[each] for each in flat]
        return [f"extensions {', '.join(map(self._range, each))};\n" for each in extensions]

    def _range(self, of: ReservedValue) -> str:
        if isinstance(of, str):
            return f'"{of}"'
        if of.first == of.last:
            return str(of.first)
        last = "max" if of.last >= 536_870_911 else str(of.last)
        return f"{of.first} to {last}"

    def _option_lines(self, options: list[ProtoOption]) -> list[str]:
        return [f"option {self._option(each)};\n" for each in self._ordered(options)]

    def _ordered(self, options: list[ProtoOption]) -> list[ProtoOption]:
        return sorted(options, key=lambda each: each.name) if self._normalize else options

    def _options(self, options: list[ProtoOption]) -> str:
        found = [self._option(each) for each in self._ordered(options)]
        if len(found) > 1:
            return " [\n" + _indented(",\n".join(found)) + "]"
        return f" [{found[0]}]" if found else ""

    def _option(self, option: ProtoOption) -> str:
        return f"{option.name} = {self._value(option.value)}"

    def _value(self, value: OptionValue) -> str:
        if isinstance(value, BareWord):
            return value.text
        if isinstance(value, QuotedText):
            return f'"{"".join(_ESCAPES.get(each, each) for each in value.text)}"'
        if isinstance(value, OptionList):
            if len(value.items) == 1:
                single = self._value(value.items[0])
                return single if self._normalize else f"[{single}]"
            return "[\n" + _indented(",\n".join(map(self._value, value.items))) + "]"
        assert isinstance(value, OptionMap)
        entries = (
            sorted(value.entries, key=lambda each: each[0]) if self._normalize else value.entries
        )
        lines = [f"{key}: {self._value(each)}" for key, each in entries]
        return "{\n" + _indented(",\n".join(lines)) + "}" if lines else "{\n}"


def _block(head: str, parts: list[list[str]]) -> str:
    """Parts in braces, each after an empty line but the first."""
    inner = "".join("\n" + _indented("".join(each)) for each in parts if each)
    return f"{head} {{{inner}}}\n"


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.removesuffix("\n").split("\n"))


def _first_number(value: ReservedValue) -> int:
    return value.first if isinstance(value, NumberRange) else 2**31 - 1
