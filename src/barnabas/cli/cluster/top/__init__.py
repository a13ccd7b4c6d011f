"""`barnabas cluster top`: what a cluster does right now, refreshed every second.

`barnabas.diagnosis` has the samples and the rows of each table.

page     rows as lines that fit a terminal
command  the command, its keys and its loop
"""
