"""The Kafka side of a Spark process: connections to clusters, and the settings they need.

connection      one connection per cluster and process, kept between tasks
kafka_settings  options named `kafka.*`, and those that source and sink share
worker_memory   garbage collection between the tasks of a Python worker
"""
