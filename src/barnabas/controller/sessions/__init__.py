"""Brokers as the controller hears of them.

heartbeats        what the heartbeat of a broker changes
broker_sessions   which brokers are alive
broker_clocks     how far their clocks are apart
"""
