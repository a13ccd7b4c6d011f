"""Single-record transforms with Connect's names and settings, as expressions on columns.

connect_transforms   the settings of a connector as a function of DataFrames
transform_settings   settings of one transform, each asked for by its type
flowing_rows         rows on their way: columns of the value, key and topic
predicates           conditions by Connect's names
field_transforms     transforms of fields: ReplaceField, MaskField, Cast, Flatten and others
record_transforms    transforms of the record: routers, Filter, ValueToKey, TimestampConverter
"""
