"""Spark sessions with the format, on any Java that is installed.

tuned_session  `barnabas.spark.session`: a local session with fast micro-batches
registration   `barnabas.spark.register`: adds the format to a session created elsewhere
kafka_name     `format("kafka")` for jobs written for Spark's Kafka source
redaction      options that plans do not show
combined_conf  settings from several places
jvm_options    of the JVM that Spark's driver runs in
early_udf      UDFs that are defined before there is a session
pipeline_events  `spark-pipelines run` with sources in Python
java           finds a Java, or uses the one from PyPI
spark_home     a SPARK_HOME without the packed copy of PySpark
"""
