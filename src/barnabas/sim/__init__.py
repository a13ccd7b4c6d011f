"""Deterministic simulation: a whole cluster of real brokers in one thread, decided by one seed.

__main__     `python -m barnabas.sim`: one seed with a trace, or many
ledger       what soaks have run, by commit
states       the states that a soak has to reach
shrink       the smallest run that fails like a failing one
splits       other futures of a run, from where it gets interesting
forks        many runs, in forked processes
run          one run: start a cluster, use it, make faults, let it recover, check
partial_recovery  whether a majority makes progress before the others are back
faults/      what goes wrong, and when
workloads/   the clients of a run: producers, consumers, groups, transactions
cluster      machines, the network between them, the checks, the clients
client       a client process that speaks the protocol
checks/      what must hold: in the clients' histories and inside the brokers
machine/     a machine: its disk, its clocks, and the broker on it
network/     links and connections
process/     virtual time, and the event loop of a process
reduction    what a run leaves out, compared with what its seed stands for
profile      how hard a run is: settings and weights of faults, drawn from the seed

A module imports only what is below it in this list; `lint-imports` checks that.
"""
