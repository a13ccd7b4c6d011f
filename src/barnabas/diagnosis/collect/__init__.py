"""Takes the snapshot that the checks look at.

snapshot  all parts; what can't be asked is left out, and named
nodes     settings, versions, certificates, clocks and files of each node
groups    lag of all groups, and what was deleted before they read it
"""
