#!/usr/bin/env python3
"""Two hosts of GLT: a trainer on each, which takes batches with rows and labels and trains nothing.

    glt_hosts.py prepare --graph FOLDER --parts FOLDER      cuts the graph in two at random
    glt_hosts.py host --rank K …                            everything of host K, in a network namespace of its own
"""

import os
import time

import common


def prepare(options):
    torch = common.use_threads(1)
    import graphlearn_torch as glt

    graph = common.load_graph(options.graph)
    columns = torch.repeat_interleave(torch.arange(graph["nodes"]), graph["indptr"].diff())
    os.makedirs(options.parts, exist_ok=True)
    torch.save(graph["y"], os.path.join(options.parts, "labels.pt"))
    torch.save(graph["train"], os.path.join(options.parts, "seeds.pt"))
    glt.partition.RandomPartitioner(
        options.parts,
        2,
        graph["nodes"],
        torch.stack([graph["indices"], columns]),
        node_feat=graph["x"],
        edge_assign_strategy="by_dst",  # by source, sampling along in-edges silently misses some
    ).partition()


def worker_options(glt, options, cpu, address):
    if options.mode == "collocated":
        return glt.distributed.CollocatedDistSamplingWorkerOptions(master_addr=address, master_port=21112)
    return glt.distributed.MpDistSamplingWorkerOptions(
        num_workers=1,
        worker_devices=[cpu],
        worker_concurrency=options.concurrency,
        master_addr=address,
        master_port=21112,
        channel_size="1GB",
        pin_memory=False,
    )


def host(options):
    os.environ["GLOO_SOCKET_IFNAME"] = os.environ["TP_SOCKET_IFNAME"] = options.interface
    torch = common.use_threads(1)
    import graphlearn_torch as glt

    torch.multiprocessing.set_start_method("spawn", force=True)  # GLT spawns, and makes a value in the default context
    cpu = torch.device("cpu")
    address = options.addresses.split(",")[0]
    dataset = glt.distributed.DistDataset(edge_dir="in")
    dataset.load(
        options.parts,
        options.rank,
        graph_mode="CPU",
        feature_with_gpu=False,
        whole_node_label_file=os.path.join(options.parts, "labels.pt"),
    )
    seeds = torch.load(os.path.join(options.parts, "seeds.pt"))
    seeds = seeds[: options.batches * common.BATCH]
    seeds = seeds[len(seeds) * options.rank // 2 : len(seeds) * (options.rank + 1) // 2]
    glt.distributed.init_worker_group(world_size=2, rank=options.rank, group_name="hosts")
    torch.distributed.init_process_group("gloo", rank=options.rank, world_size=2, init_method=f"tcp://{address}:21111")
    loader = glt.distributed.DistNeighborLoader(
        dataset,
        common.FANOUT,
        seeds,
        batch_size=common.BATCH,
        shuffle=True,
        drop_last=False,
        edge_dir="in",
        collect_features=True,
        to_device=cpu,
        worker_options=worker_options(glt, options, cpu, address),
    )
    rates = []
    for _ in range(options.epochs):
        torch.distributed.barrier()
        began = time.perf_counter()
        batches = edges = rows = 0
        for batch in loader:
            batches += 1
            edges += batch.edge_index.shape[1]
            rows += batch.x.shape[0]
        torch.distributed.barrier()
        rates.append(round(2 * batches / (time.perf_counter() - began), 2))
    if options.rank == 0:
        common.print_result(
            batches_per_s=rates[1:],  # the first epoch fills the page cache
            batches_per_epoch=2 * batches,
            edges_per_batch=edges // batches,
            rows_per_batch=rows // batches,
            versions=dict(common.versions("torch"), graphlearn_torch="0.2.4"),
        )
    if hasattr(loader, "shutdown"):
        loader.shutdown()


def main():
    parser = common.hosts_parser(__doc__, ["prepare", "host"])
    parser.add_argument("--batches", type=int, default=64, help="most batches of both hosts in an epoch")
    parser.add_argument("--mode", choices=["processes", "collocated"], default="processes", help="where samplers run")
    parser.add_argument("--concurrency", type=int, default=2, help="batches that a sampler process makes at once")
    options = parser.parse_args()
    globals()[options.role](options)


if __name__ == "__main__":
    main()
