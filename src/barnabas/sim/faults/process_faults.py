"""Brokers are killed, stopped and paused, and their supervisor starts them again."""

from collections.abc import Callable
from functools import partial

from barnabas.sim.faults.context import FaultContext
from barnabas.sim.machine.machine import Machine


class ProcessFaults:
    """Faults of a broker process; the machine under it stays up."""

    def __init__(self, context: FaultContext) -> None:
        self._context = context
        for machine in context.cluster.machines.values():
            machine.on_exit = self._exited
            if context.profile.kill_after_vote:
                machine.disk.on_write = partial(self._wrote, machine, machine.disk.on_write)

    def by_name(self) -> dict[str, Callable[[], None]]:
        return {
            "kill": self.kill,
            "kill_leader": self.kill_leader,
            "kill_controller": self.kill_controller,
            "kill_in_a_write": self.kill_in_a_write,
            "stop": self.stop,
            "pause": self.pause,
            "pause_leader": self.pause_leader,
        }

    def _exited(self, machine: Machine) -> None:
        """The supervisor starts it again, some time later."""
        delay_ms = (
            self._context.random.choice(self._context.profile.restarts_ms)
            if self._context.is_on
            else 100
        )
        self._context.simulator.after(delay_ms * 1000, lambda: self._restart(machine))

    def _restart(self, machine: Machine) -> None:
        if not machine.is_running and machine.has_power:
            machine.start()

    def kill(self) -> None:
        self._kill(self._context.any_machine())

    def kill_leader(self) -> None:
        self._kill(self._context.leader())

    def kill_controller(self) -> None:
        self._kill(self._context.cluster.controller())

    def _kill(self, machine: Machine | None) -> None:
        if machine is not None:
            machine.kill()

    def _wrote(
        self, machine: Machine, otherwise: Callable[[str, bytes], None], path: str, data: bytes
    ) -> None:
        otherwise(path, data)
        is_vote = "quorum-state" in path and self._context.is_on
        if is_vote and self._context.random.random() < self._context.profile.kill_after_vote:
            delay_us = self._context.random.choice((1_000, 2_000, 5_000, 20_000))
            self._context.simulator.after(
                delay_us, lambda: machine.kill() if self._context.is_on else None
            )

    def kill_in_a_write(self) -> None:
        machine = self._context.any_machine()
        if machine is not None:
            machine.kill_at_change(self._context.random.randint(0, 20))

    def stop(self) -> None:
        machine = self._context.any_machine()
        if machine is not None:
            machine.stop()

    def pause(self) -> None:
        self._pause(self._context.any_machine())

    def pause_leader(self) -> None:
        self._pause(self._context.leader())

    def _pause(self, machine: Machine | None) -> None:
        process = None if machine is None else machine.process
        if machine is None or process is None or process.is_paused:
            return
        self._context.simulator.say(f"{machine.host} is paused")
        process.pause()

        def resume() -> None:
            if process.is_alive:
                self._context.simulator.say(f"{process.host} goes on")
                process.resume()

        self._context.undo_later(resume)
