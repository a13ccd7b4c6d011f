"""SASL mechanisms, both sides, as state machines: a message in, a message out.

exchange            what the two sides of every mechanism have in common
jaas                Kafka's text for users and passwords in settings
jwt_tokens          tokens of OAUTHBEARER, signed by others
oauthbearer         OAUTHBEARER: a token in one message
plain               PLAIN: user and password in one message
scram_credential    what is kept of a password, and how it is derived
scram_messages      the four messages of SCRAM
scram_server        SCRAM, the side that authenticates
scram_client        SCRAM, the side that signs in
unknown_users       credentials of users that do not exist, so that they look like others
"""
