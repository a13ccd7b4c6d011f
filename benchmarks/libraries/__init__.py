"""The client libraries that are compared, each in the words that its own users write.

All have the same to do and promise the same: acks=all, idempotent, a linger of 5 ms, no
compression, no keys. Batches are as large as helps the library, tried out: up to 1 MB where that is
faster, its own default where it is not. Consumers are members of a group and commit automatically.
"""
