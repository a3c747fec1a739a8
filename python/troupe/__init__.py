"""Training of graph neural networks on batches of Troupe, with a model of your own in any library.

    import troupe

    def train(session):
        for e in range(session.first_epoch, session.epochs):
            for batch in session.epoch(e):
                ...                             # batch.features, batch.to_pyg(), …
                session.all_reduce_gradients(model)
                ...                             # optimizer.step()
                session.end_step()

    troupe.run(train, "job.json")               # alone: all hosts simulated here, a thread per rank

`troupe run job.json -- python3 train.py` runs the same file in every launch mode. docs/python.md has whole programs.
NumPy is what the package needs; PyTorch, PyG and DGL are imported by what makes their objects only.
"""

from troupe._arrays import Array
from troupe._batch import Batch, Block, Edges, Links, Nodes, Walks
from troupe._device import DeviceArray
from troupe._embedding import Embedding
from troupe._errors import Cancelled, Error
from troupe._run import run
from troupe._save import save_dgl, save_pyg
from troupe._seeded import seeded
from troupe._session import EdgeType, Graph, LinkSeeds, NodeType, Rows, Seeds, Session, Triples
from troupe._tensor import Tensor

__all__ = [
    "Array", "Batch", "Block", "Cancelled", "DeviceArray", "EdgeType", "Edges", "Embedding", "Error", "Graph", "LinkSeeds",
    "Links", "NodeType", "Nodes", "Rows", "Seeds", "Session", "Tensor", "Triples", "Walks", "run", "save_dgl", "save_pyg", "seeded",
]  # fmt: skip
