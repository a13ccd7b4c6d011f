"""`barnabas queue`: about queues of jobs, that share groups take.

commands   the family
rights     `queue rights`
"""
