"""Record batches, format v2.

batch        the header of a batch
record       one record; `message` is one as a consumer gets it
encode       records to batches; `packed` before the producer is known
decode       batches to records
cut          some records of a batch as a batch
check        check records without decoding them
validate     all checks of a broker on a produced batch
compression  the codecs; `recompress` changes the codec of a batch
decompression_budget how much is decompressed before other work gets its turn
control      control records: transaction markers
varint       the integers inside a record
murmur2      the partition of a key
kernel       the optional C extension
columns/     batches to Arrow columns and back
"""
