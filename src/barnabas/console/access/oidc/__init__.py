"""Sign-in by an OpenID provider: authorization code with PKCE (RFC 7636).

The provider's token goes to the cluster by SASL OAUTHBEARER, so that the cluster knows the user and
its access rules decide. The console itself only checks that the sign-in is its own.

options     which provider, and which of its tokens the cluster takes
http        bounded requests to the provider, which are not redirected
provider    its endpoints and keys; codes and refresh tokens to tokens
attempts    sign-ins that have begun: state, nonce and verifier, each used once
user_token  the token of a signed-in user, renewed before it ends
routes      the two addresses of a sign-in: there, and back
"""
