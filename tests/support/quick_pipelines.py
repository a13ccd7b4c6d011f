"""The tests with a real Spark that `make test` runs, by node id below tests/.

A JVM takes ten CPU seconds to start, and every pipeline one to five. So of the tests that use the
Spark session, or start Spark in processes (`@pytest.mark.drivers`), only those that are named here
are quick. Keep it at one session and one command.
"""

QUICK_PIPELINES = (
    # Batch and streaming reads, restarts from checkpoints
    "spark/source/test_batch_reads.py::test_jobs_for_kafka_run_as_they_are",
    "spark/source/test_batch_reads.py::test_positions_by_offset_and_by_time",
    "spark/source/test_streaming_reads.py::test_all_there_is_in_limited_batches_and_then_the_rest_after_a_restart",
    "spark/source/test_streaming_reads.py::test_the_death_of_a_leader_neither_stops_nor_repeats_anything",
    "spark/source/test_row_condition.py",
    # Sinks
    "spark/sink/test_writes.py::test_rows_become_records",
    "spark/sink/test_writes.py::test_a_stream_is_written_and_goes_on_where_it_was",
    # Decoding, schema errors, rules
    "spark/decoding/test_from_json.py::test_random_values_are_decided_as_by_from_json[0]",
    "spark/pipelines/test_decoding.py",
    "spark/pipelines/test_column_typo.py::test_a_column_in_python",
    "spark/pipelines/test_pipeline_source_errors.py",
    "spark/pipelines/test_redaction.py",
    "spark/pipelines/test_expectations.py::test_dead_letters_of_rules_and_of_the_schema",
    # Pipelines: windows, dead letters, restarts
    "spark/pipelines/test_pipelines.py::test_windows_tables_late_rows_and_dead_letters",
    "spark/pipelines/test_pipelines.py::test_from_topic_to_topic_and_table",
    "spark/pipelines/test_pipelines.py::test_one_that_fails_is_started_again_from_where_it_was",
    # Change data capture
    "spark/pipelines/test_postgres_changes.py::test_records_in_debeziums_envelope_exactly_once",
    # `barnabas pipeline run` in a process that is killed
    "spark/pipelines/test_etl.py::test_a_driver_is_killed_in_the_middle",
    # The API of a connect service
    "connect/test_service.py::test_plugins_and_loggers",
    "connect/test_service.py::test_requests_that_are_none_are_answered",
    # Commands that end before Spark starts
    "spark/pipelines/test_pipeline_command.py::test_without_spark_it_says_what_to_install",
    "spark/pipelines/test_wordcount.py::test_the_page_shows_the_file_that_it_runs",
)
