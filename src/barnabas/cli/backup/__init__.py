"""`barnabas backup`: copy a cluster into a folder or an object store, and restore it.

commands      the family
arguments     what its commands share
create        makes or continues a backup
key_file      keygen, and the key that others sign and check with
restore       restores one into a cluster
maintenance   show, verify, prune: without a cluster
"""
