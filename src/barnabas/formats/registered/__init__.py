"""Formats whose schemas a registry has: Avro, JSON Schema and Protobuf in the usual wire format.

registry      a registry as clients use it: options, and what is known of it
address       where it is
client        calls its REST API
schema        a schema as it gives it
subjects      under which subject the schemas of a topic are
written       the schema that values of a topic are written with
formats       formats by name: "avro", "json-schema", "protobuf"
by_topic      keys and values of the topics that a producer sends to
avro          Avro values and models
avro_checks   values by a schema: what does not fit is named
avro_scalars  values that contain no others
avro_times    dates and times
avro_expected  what these have in common
json_values   JSON with a schema
protobuf      generated classes of protobuf
not_loaded    a schema that has to be asked for first
wire_format   a zero byte, the id of a schema, and for Protobuf which message of it
parsed        schemas as fastavro and protobuf know them, with those that they refer to
reader        what reads data of one schema as JSON
avro_values   JSON that a user types, to the values that fastavro writes
writer        what writes JSON as data of one schema
"""
