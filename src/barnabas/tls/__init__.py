"""TLS for brokers and clients, from PEM files.

pem          certificates and keys as text, also in one line as in properties files
tls_files    where the certificate, its key, the trusted certificates and the revoked ones are
contexts     SSL contexts made from these
reloading    a context that follows its files while the process runs
broken_connections  connections that break while they are written to
failures     why a handshake failed, in one line
revocation_lists  certificate revocation lists (CRLs), read
revoked_certificates  which certificates a list names
"""
