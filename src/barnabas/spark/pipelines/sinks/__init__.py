"""Where pipelines write: one file per sink.

sink      `Sink`, the base class: what a sink has to do, and may do
topic     `to_topic`
parquet   `to_parquet`
files     `to_files`
postgres  `to_postgres`
database  `to_sqlite`, `to_duckdb`, `to_mysql`
http      `to_http`
redis     `to_redis`
opensearch  `to_opensearch`
connector  `to_connector`
function  `for_each_batch`
console   `to_console`
memory    `to_memory`

A new sink is a file here, a line in `definition/sql_file`, and an export of
`barnabas.spark.pipelines`.
"""
