"""The Kafka protocol: a schema table, codecs generated from it, framing and error codes.

messages/       the generated codecs, one module per API
request_limits  how large a request of each API may be
"""
