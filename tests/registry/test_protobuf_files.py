"""Compiled Protobuf files, to text and back."""

from base64 import b64encode
from importlib import import_module

import pytest

pytest.importorskip("google.protobuf")

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from barnabas.registry.model.checks import UnusableSchemaError
from barnabas.registry.protobuf_files.reading import text_of
from barnabas.registry.protobuf_files.writing import compiled
from barnabas.schemas.parsing import parse
from barnabas.schemas.protobuf.parsed import ParsedProtobuf
from barnabas.schemas.schema import Schema, SchemaKind

KNOWN = ("any", "api", "duration", "empty", "field_mask", "source_context", "struct")
KNOWN += ("timestamp", "type", "wrappers")

RICH = """
syntax = "proto2";
package com.acme;
import "google/protobuf/timestamp.proto";
option java_package = "com.acme.proto";
option optimize_for = SPEED;
enum Colour {
  option allow_alias = true;
  RED = 0;
  ROT = 0 [deprecated = true];
  BLUE = -5;
  reserved 7, 9 to max;
  reserved "GREEN";
}
message Order {
  required string id = 1 [default = "a\\"b", json_name = "identity"];
  optional Colour colour = 2 [default = BLUE];
  repeated int64 amounts = 3 [packed = true];
  map<string, Item> items = 4;
  optional google.protobuf.Timestamp at = 5;
  oneof payment {
    bool cash = 6;
    Item card = 7;
  }
  message Item {
    optional double price = 1 [default = 1.5];
    optional Order parent = 2;
    map<int32, Colour> colours = 3;
  }
  reserved 20, 22 to 30;
  reserved "old";
  extensions 100 to 199, 500 to max;
}
extend Order {
  optional string note = 100;
}
service Orders {
  rpc Get (Order) returns (stream Order.Item) { option deprecated = true; }
}
"""
OPTIONAL = """
syntax = "proto3";
message M {
  optional int32 a = 1;
  oneof x { int32 b = 2; string c = 3; }
  optional string d = 4;
  repeated M inner = 5;
}
"""


def parsed(text: str) -> ParsedProtobuf:
    found = parse(Schema(SchemaKind.PROTOBUF, text))
    assert isinstance(found, ParsedProtobuf)
    return found


def in_base64(file: FileDescriptorProto) -> str:
    return b64encode(file.SerializeToString()).decode()


def from_base64(text: str) -> FileDescriptorProto:
    from base64 import b64decode

    return FileDescriptorProto.FromString(b64decode(text))


@pytest.mark.parametrize("name", KNOWN)
def test_the_files_of_protobuf_stay_what_they_are(name: str) -> None:
    module = import_module(f"google.protobuf.{name}_pb2")
    wanted = FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
    if wanted.syntax not in ("", "proto2", "proto3"):
        with pytest.raises(UnusableSchemaError, match="not supported"):
            text_of(in_base64(wanted))
        return
    found = from_base64(compiled(parsed(text_of(in_base64(wanted))), wanted.name))
    for file in (found, wanted):
        file.ClearField("syntax")
        _forget_declarations(file)
    assert found == wanted


@pytest.mark.parametrize("text", [RICH, OPTIONAL])
def test_a_text_is_compiled_and_read_again(text: str) -> None:
    first = parsed(text)
    data = compiled(first, "x.proto")
    again = parsed(text_of(data))
    assert again.normalized() == first.normalized()
    assert compiled(again, "x.proto") == data
    pool = descriptor_pool.DescriptorPool()
    timestamp = import_module("google.protobuf.timestamp_pb2").DESCRIPTOR
    pool.AddSerializedFile(timestamp.serialized_pb)
    pool.Add(from_base64(data))
    assert pool.FindFileByName("x.proto").message_types_by_name


def test_what_is_no_compiled_file_is_left_alone_or_refused() -> None:
    assert text_of(RICH) == RICH
    with pytest.raises(UnusableSchemaError):
        text_of(b64encode(b"\xff\xff\xff").decode())


def _forget_declarations(file: FileDescriptorProto) -> None:
    """Details of extension ranges, and names in JSON that follow from those of the fields."""
    messages = [*file.message_type]
    while messages:
        message = messages.pop()
        messages += message.nested_type
        for each in message.extension_range:
            each.ClearField("options")
        for field in message.field:
            field.ClearField("json_name")
