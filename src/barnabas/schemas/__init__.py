"""Schemas of values: parsing, texts, and compatibility. No network.

schema         a schema as a registry stores it, and its fingerprint
parsing        schemas of any kind, with those they refer to
compatibility  whether a schema may follow earlier versions
incompatibility  one reason why not
json_text      JSON as Java writes it
avro/          Avro
json_schema/   JSON Schema
protobuf/      Protobuf
"""
