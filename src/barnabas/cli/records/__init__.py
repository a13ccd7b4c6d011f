"""`barnabas produce`, `barnabas consume` and `barnabas get`.

produce           the command, its options
input_format      lines of text or JSON as records to send
produce_loop      reads lines, sends records, reports
consume           the command, its options
consume_loop      fetches, prints, commits, and knows when to end
get               the command, its options
last_record       the last record of a key
start_offsets     where to start reading
record_format     templates, fields and JSON: a record as bytes to print
deserializers     keys and values as text, numbers, JSON
standard_streams  standard input and output that do not block the event loop
"""
