"""Records: read, shown, searched, masked. Their content is hostile until proven otherwise.

positions   where logs begin and end, and where transactions are still open
ranges      the records between two offsets of a partition, with what became of transactions
backwards   a partition from its end, in windows that hold few bytes
newest      the newest records of several partitions, in order of time
search      all records that match, with progress
expression  what a search looks for: words, JSON paths, comparisons, without running any code
shown       a record for the page: JSON, text or hex, cut to a length
json_lines  a record as a line of a download
parquet     records as a Parquet file
masking     parts of records that no page may show
view        records decoded and masked: what users may see
"""
