"""Errors of pipelines, with messages that name the error and its place.

pipeline_error `PipelineError`
user_code      errors in a pipeline's own code, with file and line
failure        the reason in what Spark raises
known_causes   typical failures around Spark, with their fixes
source_errors  errors of a source, with its name
error_list     several errors raised as one
"""
