"""Spark sessions that know the format, on whatever Java there is.

tuned_session  `barnabas.spark.session`: a local session with fast micro-batches
registration   `barnabas.spark.register`: teach the format to a session made elsewhere
kafka_name     `format("kafka")` for jobs written for Spark's Kafka source
combined_conf  settings from several places
early_udf      UDFs that are defined before there is a session
pipeline_events  `spark-pipelines run` with sources in Python
java           finds a Java, or uses the one from PyPI
spark_home     a SPARK_HOME without the packed copy of PySpark
"""
