"""Who may do what, decided as Kafka's StandardAuthorizer decides it.

rule_index            the rules that concern a resource
standard_authorizer   decisions, and the rule that made each
resource_type         whether a client may use any resource of a type
access_cache          the decisions about all clients
access                what one client may do, remembered until the rules change
"""
