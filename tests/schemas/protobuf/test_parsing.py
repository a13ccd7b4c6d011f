"""What a .proto file may not contain, and that parsing agrees with protoc's."""

import importlib
from pathlib import Path

import google.api
import pytest
from google.protobuf import descriptor_pb2

from barnabas.schemas.protobuf.canonical import canonical_text
from barnabas.schemas.protobuf.elements import ProtoField, ProtoMessage
from barnabas.schemas.protobuf.parser import parse_file
from barnabas.schemas.schema import InvalidSchemaError
from tests.schemas.making import proto, proto3

INVALID = [
    ("message A { Money m = 1; }", "A.m: unknown type 'Money'; define it or import its file"),
    ("message A { int32 a = 1; int32 b = 1; }", "A.b: 'a' has number 1 as well"),
    ("message A { int32 a = 1; string a = 2; }", "A: 'a' is defined twice"),
    ("message A { int32 a = 0; }", "A.a: a number is 1 to 536870911, got 0"),
    ("message A { int32 a = 19500; }", "A.a: numbers 19000 to 19999 are Protobuf's own"),
    ("message A { reserved 2 to 4; int32 a = 3; }", "A.a: number 3 is reserved"),
    ('message A { reserved "a"; int32 a = 3; }', "A.a: the name is reserved"),
    ("message A { required int32 a = 1; }", "A.a: proto3 has no required fields"),
    ("message A { int32 a = 1 [default = 3]; }", "A.a: proto3 has no defaults"),
    ("message A { map<float, int32> a = 1; }", "A.a: float can't be the key of a map"),
    ("message A { oneof a { } }", "A.a: a oneof needs a field"),
    (
        "message A { oneof a { repeated int32 b = 1; } }",
        "line 2: a field of a oneof is not repeated",
    ),
    ("enum E { A = 1; }", "E.A: the first value of a proto3 enum is 0, got 1"),
    ("enum E { A = 0; B = 0; }", "E.B: 'A' has number 0 as well"),
    ("message A { message B { Bad b = 1; } }", "A.B.b: unknown type 'Bad'"),
    ("message A {}\nmessage A {}", "the file: 'A' is defined twice"),
    ('import "place.proto";', "import 'place.proto' is unknown; add a reference with this name"),
    ("message A {\n  int32 = 1;\n}", "line 3: expected the name of a field of type int32, got '='"),
    ("message A { int32 a = 1 }", "line 2: expected ';', got '}'"),
    ("message A { int32 a = 1;", "line 2: message A has no '}'"),
    ("message A { optional group G = 1 {} }", "line 2: groups are not supported"),
    ("message A { $ }", "line 2: unexpected '$'"),
    ("table A {}", "line 2: expected a message, an enum or an import, got 'table'"),
]


@pytest.mark.parametrize(("text", "message"), INVALID)
def test_an_invalid_file_is_refused_by_field_or_line(text: str, message: str) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        proto3(text)
    assert message in str(caught.value)


def test_what_proto2_requires() -> None:
    with pytest.raises(InvalidSchemaError, match=r"A\.a: a field of proto2 is optional"):
        proto("message A { int32 a = 1; }")
    proto("message A { optional int32 a = 1 [default = -3]; extensions 100 to max; }")
    with pytest.raises(InvalidSchemaError, match="editions are not supported"):
        proto('edition = "2023"; message A {}')


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(InvalidSchemaError, match="nested too deeply"):
        proto3("message A {" * 5000)


def test_names_are_found_from_the_innermost_scope_outwards() -> None:
    parsed = proto3(
        "package shop.v1;",
        'import "place.proto";',
        "message Order { Line l = 1; v1.Order.Line m = 2; geo.Place p = 3; message Line {} }",
        "message Line {}",
        place='syntax = "proto3"; package shop.geo; message Place {}',
    )
    text = parsed.normalized()
    assert ".shop.v1.Order.Line l = 1" in text
    assert ".shop.v1.Order.Line m = 2" in text
    assert ".shop.geo.Place p = 3" in text


FOLDER = Path(next(iter(google.api.__path__))).parents[1]
FILES = sorted(
    each.relative_to(FOLDER).as_posix()
    for part in ("api", "rpc", "type", "longrunning", "cloud", "logging")
    for each in (FOLDER / "google" / part).rglob("*.proto")
)


@pytest.mark.parametrize("path", FILES)
def test_files_of_google_are_parsed_as_by_protoc(path: str) -> None:
    text = (FOLDER / path).read_text()
    file = parse_file(text)
    module = importlib.import_module(path.removesuffix(".proto").replace("/", ".") + "_pb2")
    compiled = descriptor_pb2.FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(compiled)
    assert file.package == compiled.package
    assert sorted([*file.imports, *file.public_imports]) == sorted(compiled.dependency)
    assert [each.name for each in file.enums] == [each.name for each in compiled.enum_type]
    compare(file.messages, list(compiled.message_type))
    again = parse_file(canonical_text(file))
    assert canonical_text(again) == canonical_text(file)
    compare(again.messages, list(compiled.message_type))


def compare(own: list[ProtoMessage], compiled: list[descriptor_pb2.DescriptorProto]) -> None:
    assert [each.name for each in own] == [each.name for each in compiled]
    for mine, other in zip(own, compiled, strict=True):
        expected = {each.number: each for each in other.field}
        fields = list(mine.all_fields())
        assert {each.number for each in fields} == expected.keys()
        for field in fields:
            compare_fields(field, expected[field.number], other)
        oneofs = [each.name for each in other.oneof_decl if not each.name.startswith("_")]
        assert [each.name for each in mine.oneofs] == oneofs
        nested = [each for each in other.nested_type if not each.options.map_entry]
        compare(mine.messages, nested)
        for enum, theirs in zip(mine.enums, other.enum_type, strict=True):
            values = [(each.name, each.number) for each in enum.values]
            assert values == [(each.name, each.number) for each in theirs.value]


def compare_fields(
    own: ProtoField,
    compiled: descriptor_pb2.FieldDescriptorProto,
    inside: descriptor_pb2.DescriptorProto,
) -> None:
    assert own.name == compiled.name
    repeated = own.label == "repeated" or own.map_key is not None
    assert repeated == (compiled.label == compiled.LABEL_REPEATED)
    if own.map_key is not None:
        return
    scalar = f"TYPE_{own.type.upper()}"
    if compiled.type_name:
        assert compiled.type_name.endswith(own.type.rpartition(".")[2])
    else:
        assert compiled.type == getattr(compiled, scalar)
