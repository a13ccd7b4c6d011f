"""What a schema registry knows and decides, without I/O.

names         subjects and contexts
contents      schemas with references, metadata and rules, and their GUIDs
entries       versions of subjects, and their JSON forms
contracts     metadata and rule sets: checking and merging
config        settings of subjects, contexts and the whole registry
records       the records of the log, in Confluent's format
image         what the records of the log add up to; `replay` is the only way to change it
lookups       questions that the REST API answers from the image
checks        what is needed from the kinds of schemas
errors        refusals, with Confluent's error codes
registration  records for a new version, or the version that is there already
deletion      records that delete versions and subjects
changes       records that change settings, modes and contexts
associations  which subjects a topic has
association_changes  records that create, change and delete these
"""
