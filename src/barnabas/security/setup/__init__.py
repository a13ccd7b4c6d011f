"""What a secured cluster begins with: a private CA, certificates of nodes, a first administrator.

certificates   the CA and what it signs (needs the extra `security`)
cluster_files  the files of a cluster on one machine, or to be copied to several
"""
