"""Records whose schemas a registry has: Avro, Protobuf and JSON of the usual wire format.

wire_format  a zero byte, the id of a schema, and for Protobuf which message of it
registry     asks the registry for schemas, once for each id, and for the newest of a subject
parsed       schemas as fastavro and protobuf know them, with those that they refer to
reader       what reads data of one schema: by fastavro or by protobuf
decoding     messages with what they say as JSON, in place of their bytes
avro_values  JSON that a user types, to the values that fastavro writes
writer       what writes data of one schema: by fastavro or by protobuf
encoding     what a user types, by the newest schema of the topic
"""
