"""Schemas of Python types: dataclasses, TypedDicts, pydantic models and msgspec structs.

fields      the fields of a model, whichever library it is of
digits      how many digits a Decimal has
avro        models to Avro
defaults    defaults of fields as Avro writes them
json_types  types to JSON Schema, also for the documentation of applications
json        models to JSON Schema, as a registry takes it
"""
