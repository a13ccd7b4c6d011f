"""Tools for a log that no broker has open: `barnabas log`.

dump           show the batches of a segment file
repair         replace batches that can't be decoded by empty ones
accepted_loss  replace lost offsets by empty batches
log_extent     from where to where a log goes
"""
