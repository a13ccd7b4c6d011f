"""Sign-in of clients on listeners with SASL.

state          the sign-in of one connection
listener_sasl  the mechanisms of a listener, and exchanges for them
listener_tokens  the tokens that a listener accepts
delegation_token_logins  what clients with delegation tokens sign in as
sign_ins       sign-ins of a node: handshake, steps, failures, sessions that end
withdrawn_credentials  ends connections whose password or delegation token is gone
gate           which requests are served before a client has signed in
jwks           keys by which tokens are checked
failures       failed sign-ins: counted, and logged at a limited rate
"""
