"""GraphSAGE of PyTorch Geometric on a graph of several types: authors of DBLP by field of research.

troupe import --from npy examples/dblp_hetero/dblp.json examples/dblp_hetero/store    (its README has the data)
troupe run examples/dblp_hetero/job.json -- python3 examples/python/train_hetero.py
"""

import os

import torch
import torch.nn.functional as F
from torch_geometric.nn import HeteroConv, SAGEConv
from torch_geometric.utils import trim_to_layer

import troupe

torch.set_num_threads(1)  # a thread per rank


class HeteroSage(torch.nn.Module):
    def __init__(self, graph, classes, seeds, hidden=64):
        super().__init__()
        nodes = graph.node_types
        kinds = [(nodes[t.source].name, t.name, nodes[t.destination].name) for t in graph.edge_types]
        columns = {t.name: t.columns for t in nodes}
        self.seeds = seeds  # name of their node type
        self.layers = torch.nn.ModuleList(
            [
                HeteroConv({kind: SAGEConv((columns[kind[0]], columns[kind[2]]), hidden) for kind in kinds}),
                HeteroConv({kind: SAGEConv(hidden, classes) for kind in kinds if kind[2] == seeds}),
            ]
        )

    def forward(self, data):
        """Scores of the seeds: [seeds, classes]."""
        x, edges = data.x_dict, data.edge_index_dict
        for number, layer in enumerate(self.layers):
            x, edges, _ = trim_to_layer(number, data.num_sampled_nodes, data.num_sampled_edges, x, edges)
            if number > 0:
                x = {name: F.dropout(F.relu(rows), 0.5, self.training) for name, rows in x.items()}
            x = layer(x, edges)
        return x[self.seeds][data[self.seeds].seed_index]


@torch.no_grad()
def accuracy(session, model, role):
    """Each rank looks at its own share of the nodes."""
    model.eval()
    counts = torch.zeros(2)  # right, all
    seeds = session.seeds(role)
    for first in range(0, len(seeds.nodes), 250):
        data = session.sample_neighbors(
            seeds.nodes[first : first + 250], [20, 20], node_type=seeds.node_type, with_rows=True
        ).to_pyg()
        right = model(data).argmax(dim=1) == data[model.seeds].y
        counts += torch.tensor([right.sum(), len(right)])
    session.all_reduce(counts.numpy())
    model.train()
    return (counts[0] / counts[1]).item()


def train(session):
    seeds = session.graph.node_types[session.seeds("train").node_type].name
    with troupe.seeded(session.seed):
        model = HeteroSage(session.graph, session.classes, seeds)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.01)
    session.keep(model=model, optimizer=optimizer)
    for e in range(session.first_epoch, session.epochs):
        for batch in session.epoch(e):
            data = batch.to_pyg()
            optimizer.zero_grad()
            with troupe.seeded(session.seed, session.rank, session.global_step):  # dropout
                loss = F.cross_entropy(model(data), data[seeds].y)
            loss.backward()
            session.all_reduce_gradients(model)
            optimizer.step()
            session.end_step()
        valid = accuracy(session, model, "val")
        if session.rank == 0:
            print(f"epoch {e + 1}: valid accuracy {valid:.4f}")
    test = accuracy(session, model, "test")
    if session.rank == 0:
        print(f"test accuracy {test:.4f}")


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    troupe.run(train, os.path.join(here, "..", "dblp_hetero", "job.json"))
