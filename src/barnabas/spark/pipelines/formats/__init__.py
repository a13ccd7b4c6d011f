"""Values of records as columns.

value_format    what a format is
json_values     JSON
avro            Avro
protobuf        Protobuf
values          formats by their names
decoded_rows    records that a query has read, decoded
record_decoder  JSON decoded by Spark itself, for types that are Spark's only
ddl             finds errors in schemas without Spark
"""
