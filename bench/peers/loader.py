#!/usr/bin/env python3
"""Pace of a peer's loader in one process: sampled batches, with or without their feature rows and labels.

DGL and GraphBolt draw again for every node of a batch at each hop (frontier "all"), PyG for new nodes alone ("new"), GLT
for new nodes with replacement. Neighbors are drawn uniformly, by the weights of edges, or by LABOR; seeds are nodes, or
the ends of links with a negative one each.
"""

import common


def dgl_sampler(dgl, options):
    if options.choice == "labor":
        sampler = dgl.dataloading.LaborSampler
    else:
        sampler = dgl.dataloading.NeighborSampler
    more = {"prob": "weights"} if options.choice == "weighted" else {}
    if options.features:
        more.update(prefetch_node_feats=["x"], prefetch_labels=["y"])
    return sampler(common.FANOUT[::-1], **more)


def dgl_loader(torch, graph, seeds, options):
    import dgl

    built = dgl.graph(("csc", (graph["indptr"], graph["indices"], [])), num_nodes=graph["nodes"])
    built = built.formats(["csc", "coo"] if options.links else ["csc"])  # ends of edges are read in COO
    sampler = dgl_sampler(dgl, options)
    if options.features:
        built.ndata["x"] = graph["x"]
        built.ndata["y"] = graph["y"]
    if options.choice == "weighted":
        built.edata["weights"] = graph["weights"]
    if options.links:
        negatives = dgl.dataloading.negative_sampler.Uniform(1)
        sampler = dgl.dataloading.as_edge_prediction_sampler(sampler, negative_sampler=negatives)
        built.create_formats_()
        seeds = built.edge_ids(seeds[:, 0], seeds[:, 1])
    loader = dgl.dataloading.DataLoader(
        built, seeds, sampler, batch_size=options.batch_size, shuffle=False, num_workers=options.workers
    )

    def count(batch):
        inputs, blocks = batch[0], batch[-1]
        if options.features:
            blocks[0].srcdata["x"], blocks[-1].dstdata["y"]
        return sum(block.num_edges() for block in blocks), inputs.numel()

    return loader, count, common.versions("torch", "dgl")


def graphbolt_loader(torch, graph, seeds, options):
    import dgl
    import dgl.graphbolt as graphbolt

    weights = {"edge_attributes": {"weights": graph["weights"]}} if options.choice == "weighted" else {}
    built = graphbolt.fused_csc_sampling_graph(graph["indptr"], graph["indices"], **weights)
    if options.links:
        items = graphbolt.ItemSet(seeds, names="node_pairs")
    else:
        labels = graph["y"][seeds] if options.features else torch.zeros(len(seeds), dtype=torch.int64)
        items = graphbolt.ItemSet((seeds, labels), names=("seed_nodes", "labels"))
    pipe = graphbolt.ItemSampler(items, batch_size=options.batch_size, shuffle=False)
    if options.links:
        pipe = pipe.sample_uniform_negative(built, 1)
    sample = pipe.sample_layer_neighbor if options.choice == "labor" else pipe.sample_neighbor
    prob = {"prob_name": "weights"} if options.choice == "weighted" else {}
    pipe = sample(built, [torch.tensor([k]) for k in common.FANOUT[::-1]], **prob)
    if options.features:
        store = graphbolt.BasicFeatureStore({("node", None, "x"): graphbolt.TorchBasedFeature(graph["x"])})
        pipe = pipe.fetch_feature(store, node_feature_keys=["x"])
    loader = graphbolt.DataLoader(pipe, num_workers=options.workers)

    def count(batch):
        return sum(s.sampled_csc.indices.numel() for s in batch.sampled_subgraphs), batch.input_nodes.numel()

    return loader, count, common.versions("torch", "dgl")


def pyg_loader(torch, graph, seeds, options):
    import pyg_lib  # noqa: F401  its sampler is the one measured; without it PyG needs torch-sparse
    import torch_geometric
    from torch_geometric.data import Data
    from torch_geometric.loader import LinkNeighborLoader, NeighborLoader

    columns = torch.repeat_interleave(torch.arange(graph["nodes"]), graph["indptr"].diff())
    data = Data(edge_index=torch.stack([graph["indices"], columns]), num_nodes=graph["nodes"])
    if options.features:
        data.x = graph["x"]
        data.y = graph["y"]
    more = {"batch_size": options.batch_size, "shuffle": False, "num_workers": options.workers, "is_sorted": True}
    if options.choice == "weighted":
        data.weights = graph["weights"]
        more["weight_attr"] = "weights"
    if options.links:
        more.update(edge_label_index=seeds.t().contiguous(), neg_sampling={"mode": "triplet", "amount": 1})
        loader = LinkNeighborLoader(data, common.FANOUT, **more)
    else:
        loader = NeighborLoader(data, common.FANOUT, input_nodes=seeds, **more)
    return loader, lambda batch: (batch.edge_index.shape[1], batch.n_id.numel()), common.versions("torch", "torch_geometric", "pyg_lib")


def glt_loader(torch, graph, seeds, options):
    import graphlearn_torch as glt

    cpu = torch.device("cpu")
    dataset = glt.data.Dataset(edge_dir="in")
    topology = glt.data.Topology((graph["indices"], graph["indptr"]), input_layout="CSC", layout="CSC")
    dataset.graph = glt.data.Graph(topology, "CPU")
    versions = dict(common.versions("torch"), graphlearn_torch="0.2.4")
    if options.features:
        dataset.init_node_features(graph["x"], with_gpu=False)
        dataset.init_node_labels(graph["y"])
        loader = glt.loader.NeighborLoader(
            dataset, common.FANOUT, seeds, batch_size=common.BATCH, shuffle=False, device=cpu, num_workers=options.workers
        )
        return loader, lambda batch: (batch.edge_index.shape[1], batch.node.numel()), versions
    # The loader raises TypeError for a graph without features, so its sampler is called.
    sampler = glt.sampler.NeighborSampler(dataset.graph, common.FANOUT, device=cpu, edge_dir="in", with_edge=False)
    loader = (sampler.sample_from_nodes(glt.sampler.NodeSamplerInput(s)) for s in seeds.split(common.BATCH))
    return loader, lambda sample: (sample.row.numel(), sample.node.numel()), versions


LOADERS = {"dgl": dgl_loader, "graphbolt": graphbolt_loader, "pyg": pyg_loader, "glt": glt_loader}


def main():
    parser = common.pace_parser(__doc__, LOADERS, warm=8, batches=96, seconds=6)
    parser.add_argument("--features", type=int, default=0, help="1: batches carry rows and labels")
    parser.add_argument("--choice", choices=["uniform", "weighted", "labor"], default="uniform")
    parser.add_argument("--links", type=int, default=0, help="1: seeds are links, with a negative each")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    options.batch_size = common.LINKS if options.links else common.BATCH

    torch = common.use_threads(options.threads)
    graph = common.load_graph(
        options.graph, features=bool(options.features), weights=options.choice == "weighted", links=bool(options.links)
    )
    seeds = graph["links"] if options.links else graph["train"]
    seeds = common.shuffled_seeds(seeds, options.warm + options.batches, options.batch_size)
    loader, count, versions = LOADERS[options.system](torch, graph, seeds, options)
    pace = common.Pace(options.warm, options.seconds)
    for batch in loader:
        if not pace.add(*count(batch)):
            break
    common.print_result(**pace.result(), peak_gib=common.peak_gib(), versions=versions)


if __name__ == "__main__":
    main()
