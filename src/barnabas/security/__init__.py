"""Who may do what: principals, sign-in, rules and quotas, as decisions without sockets.

principal     who sends a request
distinguished_name  the subject of a certificate as text
der                 the encoding of certificates
principal_rules     ssl.principal.mapping.rules
address       the notation of clients' addresses
secret_settings     settings whose values are not shown, and secrets inside texts
hidden_values       edited settings get the secrets back that were not shown
authorizer    what a principal may do
quotas        how much a client may do
sasl          sign-in: PLAIN, SCRAM and OAUTHBEARER, both sides
setup         what a secured cluster begins with: a private CA, certificates, an administrator
"""
