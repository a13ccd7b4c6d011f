"""What a pipeline is, and how it is read from a file.

pipeline         `Pipeline`, and the decorator `@pipeline`
loader           pipelines of a .py or .sql file, or of a folder of them
definitions      the same, with invalid files listed separately
definition_watch notices edits, and reads definitions again
source_files     the files of a folder that may have definitions
sql_file         pipelines in SQL: a query, with sources and sink in comments before it
argument_values  arguments of sources and sinks in SQL, converted to Python's types
problems         errors that can be found without Spark, all of them at once
"""
