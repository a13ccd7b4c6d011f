"""The Kafka side of a Spark process: connections to clusters, and the settings they need.

cluster_address the servers of a cluster, and how clients connect to them
connection      one connection per cluster and process, kept between tasks
kafka_settings  options named `kafka.*`, and those that source and sink share
worker_memory   garbage collection between the tasks of a Python worker
"""
