"""Confluent's REST API.

router         which function answers which path; forwarding and taking over
call           a request, with its parameters
instance       what the functions of the API work with
answers        responses and errors in Confluent's shape
subjects       /subjects
schemas        /schemas
compatibility  /compatibility
config         /config
mode           /mode
contexts       /contexts
about          /, /health, /v1/metadata
metrics        /metrics
"""
