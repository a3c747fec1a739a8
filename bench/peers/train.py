#!/usr/bin/env python3
"""Time of a peer's training step in one process: GraphSAGE of three layers of 256, mean, Adam, through its own loader.

PyG's layers are given what `trim_to_layer` aims at, by hand: layer i sees the edges of the hops that it needs, as a CSR
matrix. As documented, PyG's step takes several times as long.
"""

import common
import loader as loaders


def dgl_net(torch):
    import dgl.nn

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            sizes = common.LAYER_SIZES
            self.layers = torch.nn.ModuleList(dgl.nn.SAGEConv(sizes[i], sizes[i + 1], "mean") for i in range(3))

        def forward(self, blocks, x):
            for i, layer in enumerate(self.layers):
                x = layer(blocks[i], x)
                x = x.relu() if i < 2 else x
            return x

    return Net()


def pyg_net(torch):
    from torch_geometric.nn import SAGEConv

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            sizes = common.LAYER_SIZES
            self.layers = torch.nn.ModuleList(SAGEConv(sizes[i], sizes[i + 1]) for i in range(3))

        def forward(self, adjacencies, x):
            for i, layer in enumerate(self.layers):
                x = layer((x, x[: adjacencies[i].size(0)]), adjacencies[i])
                x = x.relu() if i < 2 else x
            return x

    return Net()


def dgl_inputs(batch):
    _, _, blocks = batch
    return blocks, blocks[0].srcdata["x"], blocks[-1].dstdata["y"]


def graphbolt_inputs(batch):
    return batch.blocks, batch.node_features["x"], batch.labels


def pyg_inputs(batch):
    from torch_geometric.utils import to_torch_csr_tensor

    adjacencies = []
    for hops in (3, 2, 1):
        sources = sum(batch.num_sampled_nodes[: hops + 1])
        targets = sum(batch.num_sampled_nodes[:hops])
        edges = batch.edge_index[:, : sum(batch.num_sampled_edges[:hops])]
        adjacencies.append(to_torch_csr_tensor(edges.flip(0), size=(targets, sources)))
    return adjacencies, batch.x, batch.y[: batch.batch_size]


SYSTEMS = {"dgl": (dgl_net, dgl_inputs), "graphbolt": (dgl_net, graphbolt_inputs), "pyg": (pyg_net, pyg_inputs)}


def main():
    parser = common.pace_parser(__doc__, SYSTEMS, warm=6, batches=64, seconds=10)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    options.features = 1
    options.links = 0
    options.choice = "uniform"
    options.batch_size = common.BATCH

    torch = common.use_threads(options.threads)
    torch.manual_seed(0)
    graph = common.load_graph(options.graph)
    seeds = common.shuffled_seeds(graph["train"], options.warm + options.batches)
    loader, count, versions = loaders.LOADERS[options.system](torch, graph, seeds, options)
    make_net, inputs = SYSTEMS[options.system]
    net = make_net(torch)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    pace = common.Pace(options.warm, options.seconds)
    losses = []
    for batch in loader:
        structure, x, y = inputs(batch)
        loss = torch.nn.functional.cross_entropy(net(structure, x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if not pace.add(*count(batch)):
            break
    common.print_result(
        **pace.result(), first_loss=round(losses[0], 4), last_loss=round(losses[-1], 4), peak_gib=common.peak_gib(), versions=versions
    )


if __name__ == "__main__":
    main()
