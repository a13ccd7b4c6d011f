"""Avro schemas.

types          the types of a schema
parser         JSON to types
defaults       whether a default is a value of its type
canonical      types to the texts by which a registry recognizes schemas
compatibility  the rules of reading with another schema
parsed         a schema with its references
"""
