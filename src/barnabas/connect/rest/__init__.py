"""Kafka Connect's REST API.

router       which function answers which path
answers      responses and errors in Kafka Connect's shape
connectors   /connectors
lifecycle    /connectors/NAME: pause, resume, stop, restart, delete
offsets      /connectors/NAME/offsets
plugins      /connector-plugins
admin        /, /health, /admin/loggers
metrics      /metrics
forwarding   requests that only the leader can answer
"""
