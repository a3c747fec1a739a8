"""GraphSAGE of PyTorch Geometric on Cora.

troupe run examples/python/cora.json -- python3 examples/python/train_pyg.py
"""

import hashlib
import os

import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.nn import SAGEConv
from torch_geometric.utils import trim_to_layer

import troupe

torch.set_num_threads(1)  # a thread per rank


class Sage(torch.nn.Module):
    def __init__(self, columns, classes):
        super().__init__()
        self.layers = torch.nn.ModuleList([SAGEConv(columns, 64), SAGEConv(64, classes)])

    def forward(self, data):
        """Scores of the seeds: [seeds, classes]."""
        x, edges = data.x, data.edge_index
        for number, layer in enumerate(self.layers):
            x, edges, _ = trim_to_layer(number, data.num_sampled_nodes, data.num_sampled_edges, x, edges)
            x = F.dropout(F.relu(x) if number > 0 else x, 0.5, self.training)
            x = layer(x, edges)
        return x[data.seed_index]


@torch.no_grad()
def accuracy(session, model, role):
    """With all neighbors. Each rank looks at its own share of the nodes."""
    model.eval()
    counts = torch.zeros(2)  # right, all
    nodes = session.seeds(role).nodes
    for first in range(0, len(nodes), 250):
        data = session.sample_neighbors(nodes[first : first + 250], [-1, -1], with_rows=True).to_pyg().to(session.device)
        right = model(data).argmax(dim=1) == data.y
        counts += torch.tensor([right.sum(), len(right)])
    session.all_reduce(counts.numpy())
    model.train()
    return (counts[0] / counts[1]).item()


def train(session):
    with troupe.seeded(session.seed):
        model = Sage(session.columns, session.classes).to(session.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best = np.zeros(2)  # valid accuracy, and the test accuracy of that epoch
    session.keep(model=model, optimizer=optimizer, best=best)
    for e in range(session.first_epoch, session.epochs):
        for batch in session.epoch(e):
            data = batch.to_pyg()
            optimizer.zero_grad()
            with troupe.seeded(session.seed, session.rank, session.global_step):  # dropout
                loss = F.cross_entropy(model(data), data.y)
            loss.backward()
            session.all_reduce_gradients(model)
            optimizer.step()
            session.end_step()
        valid = accuracy(session, model, "val")
        if valid > best[0]:
            best[:] = valid, accuracy(session, model, "test")
        if session.rank == 0:
            print(f"epoch {e + 1}: valid accuracy {valid:.4f}")
    if session.rank == 0:
        weights = b"".join(p.detach().cpu().numpy().tobytes() for p in model.parameters())
        print(f"test accuracy {best[1]:.4f}")
        print(f"weights {hashlib.md5(weights).hexdigest()}")


if __name__ == "__main__":
    job = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cora.json")
    troupe.run(train, job, device_batches=True)  # on GPUs, where the job's cluster.device says so
