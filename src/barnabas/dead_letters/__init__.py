"""Dead letters of handlers, queues and pipelines: for commands, pipelines and the console.

letters  dead letters as they are read from their topic
progress  which of them were sent back
passed_over  those that a replay has seen and not sent back
replay   those that are sent back to their topics
deletion  those that are deleted
"""
