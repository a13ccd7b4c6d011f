"""Values of records to Arrow columns, in Spark's Python workers, where the bytes already are.

Spark's JVM gets typed columns: its own `from_json` takes several times the CPU.

decoding         what is to be decoded: format, schema, and the columns that are used
decoded          what comes of it: columns, and the values that can't be decoded, with reasons
decoders         formats by name
registered_schemas  schemas of a registry, in workers
json_decoder     JSON
json_kernel      JSON, the usual values, by the compiled kernel
json_rows        JSON, one value at a time, exactly as `from_json` decides
json_tokens      the JSON that `from_json` reads
plain_json       the same, where Python's own parser will do
json_token       what both cut it into
json_conversion  its tokens to values of Spark's types
date_times       dates and timestamps as Spark reads them
time_zones       time zones by Java's names
java_text        numbers and strings as Java writes them
avro_decoder     Avro
protobuf_decoder  Protobuf
protobuf_messages its messages to values of Spark's types
row_columns      rows as columns
"""
