"""What a pipeline is, and how it is read from a file.

pipeline  `Pipeline`, and the decorator `@pipeline`
loader    pipelines of a .py or .sql file, or of a folder of them
sql_file  pipelines in SQL: a query, with sources and sink in comments before it
paths     relative paths, resolved against the folder of the definition
problems  mistakes that can be found without Spark, all of them at once
"""
