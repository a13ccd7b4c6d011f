"""Users who sign in at a service here with their name and password for the cluster.

user_security    how to connect on behalf of a user
failed_sign_ins  slows down who tries passwords
"""
