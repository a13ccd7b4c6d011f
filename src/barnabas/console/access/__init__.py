"""Who may ask.

guard     hosts that a request may name, and the headers of every answer
tokens    the token that proves that a change comes from the console's own page
permission  what users may do with services that do not know them
sessions  users that are signed in, each with its own connections to the cluster
oidc/     sign-in by an OpenID provider
audit     what was changed, by whom, in a topic
"""
