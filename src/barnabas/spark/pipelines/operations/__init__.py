"""Operations on pipelines, apart from running them.

versions      a second version of a pipeline, which runs alongside the original
reset         delete checkpoints, so that pipelines start from the beginning
state_tables  which state a pipeline keeps in its checkpoint
state         rows of that state
rights        the access rules that a pipeline needs
replay        dead letters sent back to their topics
"""
