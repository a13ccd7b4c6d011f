"""Connectors: pipelines that are defined by settings, as Kafka Connect has them.

connector      a name and settings, as pipelines
kinds          the registry: what `connector.class` can name
java_names     class names of Debezium and Kafka, and what they are here
mirrors        connectors that copy topics between clusters
driver_settings settings of Spark: for queries, and for a driver
settings       settings from the arguments of a function, and arguments from settings
shared_settings settings that all connectors have
converters     Kafka Connect's converters, and what keys and values become
unused_settings settings that would have no effect
topic_ends     the topics at the other end of a connector
pipeline_files connectors that are a pipeline's SQL or Python
connector_file a connector in a JSON file
validation     settings with their errors, in the shape of Kafka Connect
"""
