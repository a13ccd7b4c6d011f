"""Metrics of clients, by the names that Kafka's own clients have.

client_metrics    the metrics of one client at one moment, and their text for Prometheus
definitions       every metric: group, name, meaning
network_metrics   those of connections, which all clients have
producer_metrics  those of a producer
consumer_metrics  those of a consumer
"""
