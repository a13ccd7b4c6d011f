"""A small shop that survives a bad night: orders by HTTP, payments exactly once, mails by a queue.

    python -m examples.night                    # run it; it prints where to send orders
    python -m examples.night --minutes 15       # under load, while its parts are killed at random
                                                # and the clock is set

website   HTTP: an order is accepted when the cluster has stored it
billing   orders to payments, exactly once, with retries and dead letters; the total of each
          customer as state; books that are closed on a schedule
mailing   a queue of payments: each is mailed at least once, by any worker, some again later
services  starts the processes, and starts them again, as systemd does
night     the load, the kills, and the check that nothing was lost or doubled
clock     the wall clock, as these processes see it

The cluster has three nodes with TLS and passwords. Nothing here handles a failure of the cluster:
what is waited for, retried or given up is decided by Barnabas.
"""
