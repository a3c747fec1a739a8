#!/usr/bin/env python3
"""Training steps of R-GAT on an academic graph of several node types, ours and PyTorch Geometric's by turns on the same batch.

Three layers of 512 columns in four heads (one in the last layer), fanouts [15, 10, 5], Adam. The graph is generated, with a thousandth of the
nodes and edges of IGBH-full (Khatua et al., 2023), 128 columns and 19 classes; each edge type but citations has its reverse. PyG's layers, a
GATConv per edge type whose outputs are summed, see the edges of the hops that they need, so that neither side computes rows that nobody reads.
Prints a line of JSON: medians of all rounds, seeds a second, and their ratio.

    rgat_steps.py --build build/release --scratch FOLDER      with a Python that has torch, torch_geometric and NumPy
"""

import json
import pathlib

import common
import model_steps

SHAPE = pathlib.Path(__file__).resolve().parent.parent / "gpu/igbh.json"
GRAPH = json.loads(SHAPE.read_text())
NODES = GRAPH["node_types"]
EDGES = {name: (of["source"], of["destination"]) for name, of in GRAPH["edge_types"].items()}
COLUMNS, HIDDEN, HEADS, CLASSES = NODES["paper"]["features"], 512, 4, GRAPH["classes"]


def make_graph(troupe, scratch):
    if (scratch / "igbh").exists():
        return
    model_steps.run(troupe, "generate", "heterogeneous", scratch / "igbh-graph", "--schema", SHAPE)
    model_steps.run(troupe, "partition", scratch / "igbh-graph", scratch / "igbh", "--parts", 1)


def write_job(scratch, batch):
    job = {
        "dataset": {"path": str(scratch / "igbh")},
        "cluster": {"hosts": 1, "trainers_per_host": 1, "samplers_per_trainer": 1},
        "sample": {"fanout": common.FANOUT, "batch_size": batch},
        "model": {"kind": "rgat", "layers": 3, "hidden": HIDDEN, "heads": HEADS, "out_heads": 1},
        "digest": "off",
        "eval": {"mode": "sampled"},
        "seed": 1,
    }
    path = scratch / f"rgat-{batch}.json"
    path.write_text(json.dumps(job))
    return path


def load_batch(folder):
    """Edges that each layer needs by edge type, rows by node type, classes, and nodes known after each hop by node type."""
    array = model_steps.load_array
    ends = {name: array(folder / f"nodes-{name}/hop_end.npy").tolist() for name in NODES}
    rows = {name: array(folder / f"nodes-{name}/features.npy", "float32") for name in NODES}
    layers = [{}, {}, {}]
    for name in EDGES:
        for layer, edges in enumerate(model_steps.edges_of_layers(folder / f"edges-{name}")):
            if edges.shape[1] > 0:
                layers[layer][name] = edges
    return layers, rows, array(folder / "labels.npy"), ends


def pyg_net(torch, layers):
    from torch_geometric.nn import GATConv

    def relation(layer):
        if layer == 2:
            return GATConv((HIDDEN, HIDDEN), CLASSES, add_self_loops=False)
        columns = COLUMNS if layer == 0 else HIDDEN
        return GATConv((columns, columns), HIDDEN // HEADS, heads=HEADS, add_self_loops=False)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.ModuleDict({name: relation(i) for name in edges}) for i, edges in enumerate(layers))

        def forward(self, x, ends):
            for i, relations in enumerate(self.layers):
                out = {}
                for name, conv in relations.items():
                    source, to = EDGES[name]
                    along = conv((x[source], x[to][: ends[to][2 - i]]), layers[i][name])
                    out[to] = out[to] + along if to in out else along
                x = {name: rows.relu() if i < 2 else rows for name, rows in out.items()}
            return x["paper"]

    return Net()


def pyg_steps(torch, batch):
    """Milliseconds of each step."""
    layers, rows, labels, ends = batch
    torch.manual_seed(0)
    net = pyg_net(torch, layers)
    adam = torch.optim.Adam(net.parameters(), lr=0.001)

    def step():
        adam.zero_grad()
        torch.nn.functional.cross_entropy(net(rows, ends)[: len(labels)], labels).backward()
        adam.step()

    return model_steps.time_steps(step)


def main():
    parser = model_steps.steps_parser(__doc__, rounds=2)
    parser.add_argument("--batch", type=int, default=256)
    options = parser.parse_args()
    torch = common.use_threads(options.threads)
    troupe = options.build / "launcher/troupe"
    options.scratch.mkdir(parents=True, exist_ok=True)
    make_graph(troupe, options.scratch)
    job = write_job(options.scratch, options.batch)
    folder = options.scratch / f"batches-rgat-{options.batch}"
    if not folder.exists():
        model_steps.run(troupe, "batches", job, "--count", 1, "--out", folder)
    batch = load_batch(folder / "batch-0")
    line = model_steps.by_turns(
        options,
        "rgat",
        lambda: model_steps.our_steps(options.build, job, [], options.threads),
        lambda: pyg_steps(torch, batch),
        sum(of_type.shape[1] for of_type in batch[0][0].values()),
    )
    for who in ("troupe", "pyg"):
        line[f"{who}_seeds_per_second"] = round(1e3 * options.batch / line[f"{who}_ms"], 1)
    line["seeds"] = options.batch
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
