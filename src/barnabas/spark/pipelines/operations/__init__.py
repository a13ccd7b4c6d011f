"""What is done to pipelines apart from running them.

versions  a second version of a pipeline, beside the first
reset     delete checkpoints, so that pipelines start from the beginning
state     rows of the state that a pipeline keeps in its checkpoint
replay    dead letters sent back to their topics
"""
