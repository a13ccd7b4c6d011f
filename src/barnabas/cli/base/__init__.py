"""What all commands share.

command          common options, the session with a cluster, errors and how they end a command
runner           runs the asynchronous part of a command
interrupt        Ctrl-C before a command is at work
lazy_group       subcommands that are imported when they are called
exit_codes       what the exit code of a command says
output           tables, JSON, lines and messages
completion       topics and groups that a shell completes
screen           a program that fills the terminal
progress         a line that is kept up to date
client_security  --command-config, and variables with settings of security
profiles         clusters by name, and the one in use
properties       properties files
pairs            NAME=VALUE arguments
rights           prints the rights of a program, or checks them
spark_master     which Spark pipelines can run on
topic_names      whether a topic exists, and similar names if it does not
partition_names  TOPIC[:N,...] arguments
times            points in time and durations, read and printed
supervisor_socket  what a local cluster is asked by other commands
console_extra    whether the console's packages are installed
"""
