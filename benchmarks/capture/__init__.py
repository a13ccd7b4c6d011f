"""What `benchmarks.changes` needs.

captures  those that are compared: a pipeline, and Debezium on Kafka Connect
database  the PostgreSQL whose changes they take
"""
