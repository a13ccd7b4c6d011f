"""Records whose schemas a registry has: Avro, Protobuf and JSON of the usual wire format.

registry  asks the registry for schemas, once for each id, and for the newest of a subject
decoding  messages with what they say as JSON, in place of their bytes
versions  of a schema, to read and to compare
encoding  what a user types, by the newest schema of the topic
"""
