"""Learned rows of a node type."""

import numpy

from troupe import _seeded
from troupe._arrays import Array, array_of, count_of, ids_of, numbers_of


class Embedding:
    """Learned rows of one node type, as `embedding` of the job file says: the holders of the nodes' parts keep and train them.

    A step is applied when the shares of all ranks are there, also empty ones: gradients of equal nodes are added in rank order,
    and divided by the seeds of all ranks. Checkpoints keep rows and optimizer; nothing of them is the program's to save.
    """

    def __init__(self, session, name):
        facts = session._handle.embedding(name)
        self._session = session
        self.node_type: str = name
        self.dim: int = facts["dim"]

    def __repr__(self):
        return f"Embedding({self.node_type!r}, dim={self.dim})"

    def rows(self, nodes) -> Array:
        """[nodes, dim] float32 after all steps that are over (global ids; duplicates allowed), in a turn or outside of one."""
        _seeded.check_collective()
        return array_of(self._session._handle.learned_rows(self.node_type, ids_of("nodes", nodes)))

    def gradient(self, nodes, rows, *, seeds=None, of_sum=False):
        """Hands in gradients of this turn's step; end_step sends them. Further calls in the turn add to them.

        rows    [nodes, dim], NumPy or PyTorch; duplicates are added
        seeds   how many seeds they are of; by default those of the batch of this turn
        of_sum  the loss was a sum over these seeds; else a mean
        """
        if seeds is None and self._session._seeds is None:
            raise ValueError("seeds: expected their number, since this is not a turn of an epoch")
        seeds = self._session._seeds if seeds is None else count_of("seeds", seeds)
        values = numpy.ascontiguousarray(numbers_of(rows), dtype=numpy.float32)
        if not of_sum:
            values = values * numpy.float32(seeds)
        if seeds == 0:  # a rank without a batch in this step
            nodes, values = (), values[:0]
        self._session._handle.learned_gradient(self.node_type, ids_of("nodes", nodes), values, seeds)
