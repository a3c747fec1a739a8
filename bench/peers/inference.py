#!/usr/bin/env python3
"""Exact inference of GraphSAGE (three layers of 256, mean) over a whole graph by torch's sparse products.

Each layer is A @ x divided by the degree, and two products; A is the graph as a CSR matrix of float32 ones.
"""

import argparse
import statistics
import time

import common


def infer(torch, adjacency, degree, x, layers):
    with torch.no_grad():
        for number, (left, right) in enumerate(layers):
            x = left(adjacency @ x / degree) + right(x)
            x = x.relu_() if number + 1 < len(layers) else x
    return x


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", required=True, help="folder of NumPy files")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()

    torch = common.use_threads(options.threads)
    torch.manual_seed(0)
    graph = common.load_graph(options.graph)
    nodes = graph["nodes"]
    ones = torch.ones(len(graph["indices"]))
    adjacency = torch.sparse_csr_tensor(graph["indptr"], graph["indices"], ones, size=(nodes, nodes))
    degree = graph["indptr"].diff().clamp(min=1).float().unsqueeze(1)
    sizes = common.LAYER_SIZES
    layers = [
        (torch.nn.Linear(sizes[i], sizes[i + 1]), torch.nn.Linear(sizes[i], sizes[i + 1], bias=False)) for i in range(3)
    ]
    seconds = []
    for _ in range(options.repeats):
        began = time.perf_counter()
        infer(torch, adjacency, degree, graph["x"], layers)
        seconds.append(time.perf_counter() - began)
    common.print_result(
        seconds=round(statistics.median(seconds), 2), peak_gib=common.peak_gib(), versions={"torch": torch.__version__}
    )


if __name__ == "__main__":
    main()
