"""Dead letters of handlers, queues and pipelines: for commands and the console.

letters  dead letters as they are read from their topic
replay   those that are sent back to their topics, and those that are deleted
passed_over  those that a replay has seen and not sent back
"""
