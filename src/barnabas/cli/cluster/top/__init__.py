"""`barnabas cluster top`: what a cluster does right now, refreshed every second.

sample   the counters of a cluster at one moment
rates    two samples, and what has happened between them; rows of each table, busiest first
page     rows as lines that fit a terminal
screen   the terminal: another page while it runs, single keys, and all restored at the end
command  the command, its keys and its loop
"""
