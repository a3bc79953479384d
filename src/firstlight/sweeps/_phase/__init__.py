"""Phase diagrams: cells of a lattice in two fields, refined where success and failure meet."""

from firstlight.sweeps._phase._phase import phase_diagram
from firstlight.sweeps._phase._result import PhaseDiagram

__all__ = ["PhaseDiagram", "phase_diagram"]
