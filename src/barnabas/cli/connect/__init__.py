"""`barnabas connect`: run the service, and manage its connectors.

commands   the commands for connectors
run        `connect run`, the service
rights     `connect rights`: what the service or a connector has to be allowed
config_file  a connector in a file
view       connectors as tables
"""
