"""`barnabas pipeline`: Spark pipelines.

commands        the commands, with their options and arguments
arguments       arguments that commands share, and the pipelines that they name
selection       which pipelines of a folder a run starts
startup_checks  errors that can be found before Spark is started
spark           the Spark session of a command, and its output
run             runs pipelines in the foreground
watch           restarts pipelines when their definitions are edited
view            progress: a live table, lines or JSON
status          pipelines that have run, chosen by name
state           the state in a checkpoint
graph           how pipelines depend on each other
compact         compacts Parquet tables
test            finds and runs the tests of pipelines
"""
