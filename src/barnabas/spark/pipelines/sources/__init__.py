"""What pipelines read: one file per source.

source            `Source`, the base class: what a source has to do, and may do
topic             `from_topic`
table             `from_table`
files             `from_files`
folder_files      files in a folder that Spark reads
object_files      files in an object store
postgres_changes  `from_postgres_changes`
mysql_changes     `from_mysql_changes`
table_changes     what sources of changes have in common
generator         `from_generator`
generated_columns  the columns of a generator, by rules
query             `from_query`
query_rows        what is new in a table, by position
log_files         `from_log_files`
log_lines         lines of files that grow, by position
http              `from_http`
connector         `from_connector`, and what sources by position have in common
record_schema     columns of a record, for the sources that read topics
watermark         watermarks
expected_rows     rules for the rows of a source
feed              what a test feeds to a source

A new source is a file here, a line in `definition/sql_file`, and an export of
`barnabas.spark.pipelines`.
"""
