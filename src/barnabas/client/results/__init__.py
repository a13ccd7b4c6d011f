"""Results of jobs: what a handler has returned, for whoever has submitted the job.

Workers store them in the companion topic TOPIC.results, under the id of the job; the submitter
reads the partition of its ids. Nobody keeps state: an id says where and since when to look.

job_ids          what a job is called, and which partition its result goes to
results_topic    the companion topic
result_sends     a worker stores results
result_reader    reads a partition and tells those who wait
submitted_job    what `submit` returns
job_results      submits jobs, and finds the results of earlier ones
"""
