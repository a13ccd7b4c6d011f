"""The log of a node: how a message looks, where it goes, and which messages are logged.

json_format       one JSON object for each message
log_file          a file with rotation
log_setup         installs what the settings ask for
logger_levels     levels of loggers, changed while the node runs
repairs           what was repaired in logs of partitions, one line for all of them
"""
