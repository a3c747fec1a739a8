#!/usr/bin/env python3
"""Two hosts of DGL: a server and a trainer on each, which takes batches with rows and labels and trains nothing.

    dgl_hosts.py prepare --graph FOLDER --parts FOLDER      cuts the graph in two at random
    dgl_hosts.py host --rank K …                            everything of host K, in a network namespace of its own

A host has a /dev/shm of its own, so that trainers reach the other host's server by the network alone.
"""

import os
import subprocess
import sys
import time

import common

NAME = "graph"


def prepare(options):
    common.use_threads(1)
    import dgl
    import torch

    graph = common.load_graph(options.graph)
    whole = dgl.graph(("csc", (graph["indptr"], graph["indices"], [])), num_nodes=graph["nodes"])
    whole.ndata["x"] = graph["x"]
    whole.ndata["y"] = graph["y"]
    mask = torch.zeros(graph["nodes"], dtype=torch.bool)
    mask[graph["train"]] = True
    whole.ndata["train"] = mask
    dgl.distributed.partition_graph(whole, NAME, 2, options.parts, part_method="random", num_hops=1)
    dgl.distributed.dgl_partition_to_graphbolt(config_of(options))


def config_of(options):
    return os.path.join(options.parts, NAME + ".json")


def addresses_file(options):
    return os.path.join(options.parts, "addresses.txt")


def host(options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8g", "tmpfs", "/dev/shm"], check=True)
    if options.rank == 0:
        with open(addresses_file(options), "w") as out:
            out.writelines(f"{address} 30050\n" for address in options.addresses.split(","))
    first = options.addresses.split(",")[0]
    environment = dict(
        os.environ,
        DGL_DIST_MODE="distributed",
        DGL_NUM_SAMPLER=str(options.samplers),
        DGL_NUM_CLIENT=str(2 * (1 + options.samplers)),
        DGL_NUM_SERVER="1",
        DGL_CONF_PATH=config_of(options),
        DGL_IP_CONFIG=addresses_file(options),
        DGL_GRAPH_FORMAT="csc",
        DGL_KEEP_ALIVE="0",
        MASTER_ADDR=first,
        MASTER_PORT="1234",
        WORLD_SIZE="2",
        GLOO_SOCKET_IFNAME=options.interface,
    )
    command = [sys.executable, os.path.abspath(__file__)]
    server = subprocess.Popen(
        command + ["server"] + sys.argv[2:], env=dict(environment, DGL_ROLE="server", DGL_SERVER_ID=str(options.rank))
    )
    trainer = subprocess.Popen(
        command + ["trainer"] + sys.argv[2:], env=dict(environment, DGL_ROLE="client", RANK=str(options.rank), LOCAL_RANK="0")
    )
    code = trainer.wait()
    try:
        server.wait(10 if code == 0 else 0.1)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
    sys.exit(code if code >= 0 else 1)


def initialize(options):
    common.use_threads(1)
    import dgl

    dgl.distributed.initialize(addresses_file(options), use_graphbolt=bool(options.graphbolt))
    return dgl


def server(options):
    initialize(options)


def trainer(options):
    dgl = initialize(options)
    import torch

    torch.distributed.init_process_group("gloo")
    graph = dgl.distributed.DistGraph(NAME, part_config=config_of(options))
    seeds = dgl.distributed.node_split(graph.ndata["train"], graph.get_partition_book(), force_even=True)
    loader = dgl.dataloading.DistNodeDataLoader(
        graph, seeds, dgl.dataloading.NeighborSampler(common.FANOUT[::-1]), batch_size=common.BATCH, shuffle=True, drop_last=False
    )
    rates = []
    for _ in range(options.epochs):
        torch.distributed.barrier()
        began = time.perf_counter()
        batches = edges = rows = 0
        for inputs, outputs, blocks in loader:
            graph.ndata["x"][inputs], graph.ndata["y"][outputs]
            batches += 1
            edges += sum(block.num_edges() for block in blocks)
            rows += len(inputs)
        torch.distributed.barrier()
        rates.append(round(2 * batches / (time.perf_counter() - began), 2))
    if graph.rank() == 0:
        common.print_result(
            batches_per_s=rates[1:],  # the first epoch fills the page cache
            batches_per_epoch=2 * batches,
            edges_per_batch=edges // batches,
            rows_per_batch=rows // batches,
            versions=common.versions("torch", "dgl"),
        )
    torch.distributed.barrier()


def main():
    parser = common.hosts_parser(__doc__, ["prepare", "host", "server", "trainer"])
    parser.add_argument("--samplers", type=int, default=0, help="sampler processes per trainer")
    parser.add_argument("--graphbolt", type=int, default=0)
    options = parser.parse_args()
    globals()[options.role](options)


if __name__ == "__main__":
    main()
