"""What goes wrong in a simulation, when, and how it is put right again."""

from collections.abc import Callable
from functools import partial
from random import Random

from barnabas.sim.administrator import Administrator
from barnabas.sim.cluster import Cluster
from barnabas.sim.damage import lose_directory, make_hole
from barnabas.sim.disk import SimulatedDisk
from barnabas.sim.forger import Forger
from barnabas.sim.history import Place
from barnabas.sim.machine import Machine
from barnabas.sim.rot import flip_bit


class Faults:
    """Draws one fault after the other until it is told to stop."""

    def __init__(self, cluster: Cluster, administrator: Administrator) -> None:
        self._cluster = cluster
        self._administrator = administrator
        self._forger = Forger(cluster)
        self._simulator = cluster.simulator
        self._network = cluster.network
        self._profile = cluster.profile
        self.random = cluster.simulator.source("faults")
        weights = cluster.profile.faults
        self._names = [name for name, weight in weights.items() for _ in range(weight)]
        self._is_on = False
        self._wipes = cluster.profile.wipes
        for machine in cluster.machines.values():
            machine.on_exit = self._exited
            if cluster.profile.kill_after_vote:
                machine.disk.on_write = partial(self._wrote, machine, machine.disk.on_write)

    def begin(self) -> None:
        self._is_on = True
        if self._names:
            self._later()

    def _later(self) -> None:
        every_us = self._profile.fault_every_ms * 1000
        self._simulator.after(self.random.randint(1, 2 * every_us), self._fault)

    def _fault(self) -> None:
        if self._is_on:
            name = self.random.choice(self._names)
            self._simulator.note(name.encode())
            getattr(self, name)()
            self._later()

    def _undo_later(self, undo: Callable[[], None]) -> None:
        """After a while, unless the end of all faults has come before."""
        delay_ms = self.random.choice(self._profile.heals_ms)
        self._simulator.after(delay_ms * 1000, lambda: undo() if self._is_on else None)

    def end(self) -> None:
        """Put everything right."""
        self._is_on = False
        self._simulator.say("faults stop")
        self._network.heal()
        self._network.slow.clear()
        for machine in self._cluster.machines.values():
            machine.disk.is_full = False
            machine.power_up()
            if machine.process is not None:
                machine.process.resume()
                machine.kill_at_change(None)
            else:
                machine.start()

    # -- whom it hits ------------------------------------------------------------------------------

    def _running(self) -> list[Machine]:
        return [machine for machine in self._cluster.machines.values() if machine.is_running]

    def _anybody(self) -> Machine | None:
        running = self._running()
        return self.random.choice(running) if running else None

    def _leader(self) -> Machine | None:
        """Who leads some partition: not anybody, but where most harm can be done."""
        led = self._cluster.led_partitions()
        return self.random.choice(led)[0] if led else None

    # -- processes ---------------------------------------------------------------------------------

    def _exited(self, machine: Machine) -> None:
        """The supervisor starts it again, some time later."""
        delay_ms = self.random.choice(self._profile.restarts_ms) if self._is_on else 100
        self._simulator.after(delay_ms * 1000, lambda: self._restart(machine))

    def _restart(self, machine: Machine) -> None:
        if not machine.is_running and machine.has_power:
            machine.start()

    def _kill(self, machine: Machine | None) -> None:
        if machine is not None:
            machine.kill()

    def kill(self) -> None:
        self._kill(self._anybody())

    def kill_leader(self) -> None:
        self._kill(self._leader())

    def kill_controller(self) -> None:
        self._kill(self._cluster.controller())

    def _wrote(
        self, machine: Machine, otherwise: Callable[[str, bytes], None], path: str, data: bytes
    ) -> None:
        otherwise(path, data)
        is_vote = "quorum-state" in path and self._is_on
        if is_vote and self.random.random() < self._profile.kill_after_vote:
            delay_us = self.random.choice((1_000, 2_000, 5_000, 20_000))
            self._simulator.after(delay_us, lambda: machine.kill() if self._is_on else None)

    def kill_in_a_write(self) -> None:
        machine = self._anybody()
        if machine is not None:
            machine.kill_at_change(self.random.randint(0, 20))

    def stop(self) -> None:
        machine = self._anybody()
        if machine is not None:
            machine.stop()

    def pause(self) -> None:
        self._pause(self._anybody())

    def pause_leader(self) -> None:
        self._pause(self._leader())

    def _pause(self, machine: Machine | None) -> None:
        process = None if machine is None else machine.process
        if machine is None or process is None or process.is_paused:
            return
        self._simulator.say(f"{machine.host} is paused")
        process.pause()

        def resume() -> None:
            if process.is_alive:
                self._simulator.say(f"{process.host} goes on")
                process.resume()

        self._undo_later(resume)

    # -- machines ----------------------------------------------------------------------------------

    def power_loss(self) -> None:
        """Of one machine, or of several at once, as far as something of everything is left."""
        guarantee = self._cluster.watch.guarantee
        machines = list(self._cluster.machines.values())
        self.random.shuffle(machines)
        for machine in machines[: self.random.choice((1, 1, 2, len(machines)))]:
            if machine.has_power and guarantee.may_lose(machine.node_id):
                guarantee.loses(machine.node_id)
                machine.lose_power()
                delay_ms = self.random.choice(self._profile.restarts_ms)
                self._simulator.after(delay_ms * 1000, partial(self._power_up, machine))

    def _power_up(self, machine: Machine) -> None:
        if not machine.has_power:
            machine.power_up()
            machine.start()

    def wipe(self) -> None:
        """A machine comes back with an empty disk, while all the others are well."""
        if len(self._running()) == len(self._cluster.machines):
            self._wipe(self._anybody())

    def wipe_last_in_sync(self) -> None:
        """A leader that is alone in sync, while others that are away are eligible."""
        alone = [
            machine
            for machine, partition in self._cluster.led_partitions()
            if partition.leading is not None and partition.leading.has_eligible
        ]
        self._wipe(self.random.choice(alone) if alone else None)

    def _wipe(self, machine: Machine | None) -> None:
        """A voter that is wiped has forgotten what it voted for and what it has acknowledged to the
        quorum; with the other voters well, a majority knows."""
        guarantee = self._cluster.watch.guarantee
        if machine is None or not self._wipes or not self._may_forget_votes(machine.node_id):
            return
        if guarantee.may_lose(machine.node_id):
            self._wipes -= 1
            guarantee.loses(machine.node_id)
            machine.kill()
            machine.wipe()

    def _may_forget_votes(self, node_id: int) -> bool:
        voters = range(1, self._profile.voters + 1)
        if node_id not in voters:
            return True
        are_up = all(self._cluster.machines[voter].is_running for voter in voters)
        return are_up and self._cluster.voters_agree(node_id)

    def blackout(self) -> None:
        """All machines lose power at once; what was acknowledged has been flushed before."""
        if not all(machine.has_power for machine in self._cluster.machines.values()):
            return
        self._cluster.watch.guarantee.all_lose_power()
        for machine in self._cluster.machines.values():
            machine.lose_power()
            delay_ms = self.random.choice(self._profile.restarts_ms)
            self._simulator.after(delay_ms * 1000, partial(self._power_up, machine))

    def lose_directory(self) -> None:
        self._damage(lose_directory)

    def make_hole(self) -> None:
        self._damage(make_hole)

    def _damage(self, damage: Callable[[SimulatedDisk, Random], str | None]) -> None:
        """Some partition of a machine that is killed has lost something when it comes back."""
        machine = self._anybody()
        guarantee = self._cluster.watch.guarantee
        if machine is None or not guarantee.may_lose(machine.node_id):
            return
        machine.kill()
        what = damage(machine.disk, self.random)
        if what is not None:
            self._simulator.say(f"{machine.host} {what}")
            guarantee.loses(machine.node_id)

    def rot(self) -> None:
        """A bit of a committed batch flips on the disk of a machine, running or not."""
        machine = self.random.choice(list(self._cluster.machines.values()))
        watch = self._cluster.watch
        keys = self._cluster.partition_keys()

        def may_rot(directory: str, base_offset: int, crc: int) -> bool:
            key = keys.get(directory)
            if key is None or not watch.guarantee.may_rot(machine.node_id, key):
                return False
            batch = watch.truths[key].by_base.get(base_offset)
            return batch is not None and batch.crc == crc

        rot = flip_bit(machine.disk, self.random, may_rot)
        if rot is not None:
            self._simulator.say(f"{machine.host} has a flipped bit in {rot}")
            topic, _, index = rot.directory.rpartition("-")
            self._cluster.history.rotten.add(Place(topic, int(index)))
            watch.guarantee.rots(machine.node_id, keys[rot.directory], rot)

    def full_disk(self) -> None:
        machine = self._anybody()
        if machine is None or machine.disk.is_full:
            return
        self._simulator.say(f"{machine.host} has no room left on its disk")
        machine.disk.is_full = True

        def make_room() -> None:
            self._simulator.say(f"{machine.host} has room on its disk")
            machine.disk.is_full = False

        self._undo_later(make_room)

    def clock_jump(self) -> None:
        machine = self._anybody()
        if machine is not None:
            machine.clock_skew_ms += self.random.choice((-3_600_000, -2_000, 2_000, 3_600_000))
            self._simulator.say(f"{machine.host}'s clock is set to {machine.clock_skew_ms} ms off")

    # -- network -----------------------------------------------------------------------------------

    def _cut(self, links: set[tuple[str, str]], what: str) -> None:
        self._simulator.say(f"cut: {what}")
        cut = self._network.cut(links)

        def heal() -> None:
            self._simulator.say(f"healed: {what}")
            self._network.heal(cut)

        self._undo_later(heal)

    def _apart(self, side: list[str], what: str) -> None:
        others = [host for host in self._cluster.hosts if host not in side]
        links = {(a, b) for a in side for b in others} | {(b, a) for a in side for b in others}
        self._cut(links, what)

    def partition(self) -> None:
        hosts = self._cluster.hosts
        side = self.random.sample(hosts, self.random.randint(1, len(hosts) - 1))
        self._apart(side, f"{', '.join(side)} from the rest")

    def isolate_leader(self) -> None:
        """From the other nodes; clients may still reach it, or not."""
        self._isolate(self._leader())

    def isolate_controller(self) -> None:
        self._isolate(self._cluster.controller())

    def _isolate(self, machine: Machine | None) -> None:
        if machine is None:
            return
        clients = [client.process.host for client in self._cluster.clients]
        side = [machine.host, *(host for host in clients if self.random.random() < 0.7)]
        self._apart(side, f"{', '.join(side)} from the rest")

    def one_way(self) -> None:
        hosts = [machine.host for machine in self._cluster.machines.values()]
        deaf = self.random.choice(hosts)
        others = [host for host in hosts if host != deaf]
        unheard = self.random.sample(others, self.random.randint(1, len(others)))
        if self.random.random() < 0.5:
            self._cut({(host, deaf) for host in unheard}, f"{deaf} does not hear {unheard}")
        else:
            self._cut({(deaf, host) for host in unheard}, f"{deaf} is not heard by {unheard}")

    def break_connections(self) -> None:
        for stream in self._network.between(self._cluster.hosts):
            if self.random.random() < 0.3:
                stream.reset()
                stream.peer.reset()

    def forget_connections(self) -> None:
        for stream in self._network.between(self._cluster.hosts):
            if self.random.random() < 0.2:
                self.random.choice((stream, stream.peer)).forgotten = True

    def late_repetitions(self) -> None:
        for stream in self._network.between(self._cluster.hosts):
            if self.random.random() < 0.3:
                stream.linger(self.random.randint(1_000, 2_000_000))

    def slow_link(self) -> None:
        source, target = self.random.sample(self._cluster.hosts, 2)
        self._network.slow[source, target] = (20_000, 400_000)
        self._undo_later(lambda: self._network.slow.pop((source, target), None) and None)

    # -- people ------------------------------------------------------------------------------------

    def move_replicas(self) -> None:
        self._administrator.move_replicas()

    def elect_preferred(self) -> None:
        self._administrator.elect_preferred()

    def churn_topics(self) -> None:
        self._administrator.churn_topics()

    def forge(self) -> None:
        self._forger.forge()
