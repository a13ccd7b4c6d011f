"""The texts by which a registry recognizes Protobuf schemas."""

from tests.schemas.making import proto, proto3

SOURCE = """
// An order.
package shop.v1;
import "google/protobuf/timestamp.proto"; import 'google/protobuf/any.proto';
enum Color { RED = 0; BLUE = 1 [deprecated=true]; }
message Order {
  reserved 10 to 12, 15; reserved "old";
  string id = 1;
  repeated Line lines = 3 [json_name = "ll", deprecated = true];  /* many */
  map<string, Line> by_name = 2;
  oneof pay { int32 cash = 5; string card = 4; }
  google.protobuf.Timestamp at = 6;
  message Line { int64 n = 2; double price = 1; }
}
service Orders { rpc Get(Order) returns (stream Order); }
"""

CANONICAL = """\
syntax = "proto3";
package shop.v1;

import "google/protobuf/timestamp.proto";
import "google/protobuf/any.proto";

message Order {
  reserved 10 to 12, 15;
  reserved "old";

  string id = 1;
  repeated Line lines = 3 [
    deprecated = true,
    json_name = "ll"
  ];
  map<string, Line> by_name = 2;
  google.protobuf.Timestamp at = 6;

  oneof pay {
    int32 cash = 5;
    string card = 4;
  }

  message Line {
    int64 n = 2;
    double price = 1;
  }
}
enum Color {
  RED = 0;
  BLUE = 1 [deprecated = true];
}

service Orders {
  rpc Get (Order) returns (stream Order);
}
"""

NORMALIZED = """\
syntax = "proto3";
package shop.v1;

import "google/protobuf/any.proto";
import "google/protobuf/timestamp.proto";

message Order {
  reserved 10 to 12;
  reserved 15;
  reserved "old";

  string id = 1;
  map<string, .shop.v1.Order.Line> by_name = 2;
  repeated .shop.v1.Order.Line lines = 3 [
    deprecated = true,
    json_name = "ll"
  ];
  .google.protobuf.Timestamp at = 6;

  oneof pay {
    string card = 4;
    int32 cash = 5;
  }

  message Line {
    double price = 1;
    int64 n = 2;
  }
}
enum Color {
  RED = 0;
  BLUE = 1 [deprecated = true];
}

service Orders {
  rpc Get (.shop.v1.Order) returns (stream .shop.v1.Order);
}
"""


def test_the_canonical_text_has_no_comments_and_a_fixed_layout() -> None:
    parsed = proto3(SOURCE)
    assert parsed.canonical() == CANONICAL
    assert proto(CANONICAL).canonical() == CANONICAL
    assert parsed.name == "shop.v1.Order"


def test_normalizing_sorts_by_number_and_names_types_in_full() -> None:
    assert proto3(SOURCE).normalized() == NORMALIZED
    assert proto(NORMALIZED).normalized() == NORMALIZED


def test_empty_lines_of_nested_messages_are_indented_as_by_confluent() -> None:
    text = proto3("message A { message B { int32 c = 1; message D {} } }").canonical()
    assert "    int32 c = 1;\n  \n    message D {}\n" in text


def test_values_of_options_are_escaped() -> None:
    text = proto3("option java_package = 'a\\\"b\\n';").canonical()
    assert 'option java_package = "a\\"b\\n";' in text
