"""Confluent's REST API.

router         who may ask; forwarding and taking over
routes         which function answers which path, and what callers need
call           a request, with its parameters
instance       what the functions of the API work with
caller_quota   how many requests a caller may send
request_counts how many were answered, for metrics
answers        responses and errors in Confluent's shape
subjects       /subjects
schemas        /schemas
compatibility  /compatibility
config         /config
mode           /mode
contexts       /contexts
copies         /ids, /settings: what only this registry has
associations   /associations
about          /, /health, /v1/metadata
metrics        /metrics
"""
