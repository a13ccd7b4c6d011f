"""Running pipelines.

pipeline_run      the pipelines of one command, from start to end
former_letters    queries that wrote dead letters in earlier versions
letter_counter    how many dead letters a pipeline has written
supervised_query  the query of one pipeline, restarted when it fails
restart_policy    the wait before a restart
progress          rows, rates, lag and watermark of a query
batch_durations   how long batches took, as a histogram
progress_reports  all of it to a topic, for the console
control_requests  requests of users to stop or restart, from a topic
metrics           all of this in Prometheus' format
metrics_server    serves it over HTTP
session_conf      Spark settings that sources and sinks need
run_folder        checkpoints, locks and statuses on disk
spark_log         Spark's log in a file
"""
