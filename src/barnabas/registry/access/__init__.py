"""Who may do what with subjects: users of the cluster, by its access rules.

access           the caller of a request
tried_passwords  names and passwords, tried at the brokers
rules            the cluster's rules about subjects
caller           a user, and what they may do
"""
