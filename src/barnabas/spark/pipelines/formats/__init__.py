"""Values of records as columns.

value_format    what a format is
json_values     JSON
avro            Avro
values          formats by their names
record_decoder  records as rows: their values decoded, the undecodable ones apart
ddl             mistakes in schemas that can be found without Spark
"""
