"""What all commands share.

command          common options, the session with a cluster, errors and how they end a command
runner           runs the asynchronous part of a command
interrupt        Ctrl-C before a command is at work
exit_codes       what the exit code of a command says
output           tables, JSON, lines and messages
pairs            NAME=VALUE arguments
topic_names      whether a topic exists, and similar names if it does not
partition_names  TOPIC[:N,...] arguments
times            points in time and durations, read and printed
"""
