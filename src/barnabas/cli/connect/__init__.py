"""`barnabas connect`: run the service, and manage its connectors.

commands   the commands for connectors
run        `connect run`, the service
view       connectors as tables
"""
