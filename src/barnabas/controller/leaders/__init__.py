"""Leadership that moves without an election by request, when it is time for it.

leader_balance.py   back to preferred leaders
stuck_leaders.py    away from brokers that do not know that they lead
"""
