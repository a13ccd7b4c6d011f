"""Virtual time, and simulated processes.

loop        the event loop that the code of a process runs on; it can be killed and paused
executor    the threads of a process
callback    what is to run soon, or at a time
simulator   one heap of events and one clock for everything that happens
"""
