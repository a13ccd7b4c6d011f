"""`barnabas pipeline`: Spark pipelines.

commands   the commands and their options
arguments  which pipelines of a file are meant
selection  which pipelines of a folder a run starts
check      what can be checked before Spark is started
spark      the Spark session of a command, and its output
run        runs pipelines in the foreground
watch      follows edits of definitions
view       progress: a live table, lines or JSON
status     pipelines that have run, chosen by name
state      the state in a checkpoint
graph      how pipelines depend on each other
compact    compacts Parquet tables
test       finds and runs the tests of pipelines
"""
