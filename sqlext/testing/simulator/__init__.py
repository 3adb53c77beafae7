"""A seeded simulator of what comes to a pipeline: random changes, delivered once or twice, among faults.

A pipeline is a function that takes a `Batch` of changes and gets them into a table. `simulate` calls it with a random
history, switches on faults by their rates, calls it again where it has failed, as an orchestrator does, and compares
the table after each step with a model: a dictionary of rows by key. The same seed gives the same history.

    from sqlext.testing.simulator import simulate

    simulate(lambda batch: orders.upsert(batch.rows()), orders, seed=7)
"""

from sqlext.testing.simulator.batch import Batch, Change, last_wins
from sqlext.testing.simulator.change_history import FaultRates
from sqlext.testing.simulator.simulation import SimulationFailed, simulate, simulate_seeds

__all__ = ["Batch", "Change", "FaultRates", "SimulationFailed", "last_wins", "simulate", "simulate_seeds"]


def __dir__() -> list[str]:
    return sorted(__all__)
