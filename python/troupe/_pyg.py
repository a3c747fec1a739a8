"""Batches as objects of PyTorch Geometric, as its NeighborLoader and LinkNeighborLoader make them."""

import numpy
import torch
from torch_geometric.data import Data, HeteroData

from troupe._device import DeviceArray
from troupe._tensors import put, refuse_walks, tensor_of


def data_of(batch, graph):
    refuse_walks(batch, "to_pyg")
    if batch.frontier == "all" and batch.hops > 1:
        raise ValueError(
            'to_pyg: expected sample.frontier "new", found "all", whose hops have edges of their own; try: batch.to_dgl() or batch.block(…)'
        )
    one_type = len(graph.node_types) == 1 and len(graph.edge_types) == 1
    return _data(batch) if one_type else _hetero(batch, graph)


def _data(batch):
    data = Data()
    _put_nodes(data, batch, batch.all_nodes[0])
    _put_edges(data, batch.all_edges[0])
    if _can_be_trimmed(batch):
        data.num_sampled_nodes = _per_hop(batch.all_nodes[0])
        data.num_sampled_edges = batch.all_edges[0].per_hop
    _put_seeds(data, data, batch)
    return data


def _hetero(batch, graph):
    data = HeteroData()
    nodes, edges = {}, {}
    for of_type in batch.all_nodes:
        _put_nodes(data[of_type.name], batch, of_type)
        nodes[of_type.name] = _per_hop(of_type)
    for of_type in batch.all_edges:
        key = tuple(graph.node_types[t].name for t in (of_type.source_type, of_type.destination_type))
        key = key[0], of_type.name, key[1]
        _put_edges(data[key], of_type)
        edges[key] = of_type.per_hop
    if _can_be_trimmed(batch):
        data.num_sampled_nodes = nodes
        data.num_sampled_edges = edges
    _put_seeds(data, data[graph.node_types[batch.seed_type].name], batch)
    return data


def _can_be_trimmed(batch):
    return batch.subgraph == "directional"


def _per_hop(of_type):
    return numpy.diff(of_type.hop_end, prepend=0).tolist()


def _put(store, name, array):
    put(store, name, None if array is None else tensor_of(array), "to_pyg")


def _put_nodes(store, batch, of_type):
    store.num_nodes = len(of_type)
    _put(store, "x", of_type.features)
    _put(store, "n_id", of_type.original_ids)
    if of_type.trees is not None:
        store.batch = torch.from_dlpack(of_type.trees).long()
    for name, array in of_type.columns.items():
        _put(store, name, array)


def _put_edges(store, of_type):
    store.edge_index = _index_of(of_type)
    _put(store, "e_id", of_type.edge_ids)
    _put(store, "edge_attr", of_type.features)
    _put(store, "edge_weight", of_type.weights)
    _put(store, "edge_time", of_type.times)
    for name, array in of_type.columns.items():
        _put(store, name, array)


def _index_of(of_type):
    if not isinstance(of_type.sources, DeviceArray):
        return tensor_of(of_type.index)
    # Rows lie hop after hop, as the nodes that they are of: row r is that of node r.
    counts = torch.from_dlpack(of_type.offsets).diff()
    to = torch.repeat_interleave(counts, output_size=len(of_type))
    return torch.stack([torch.from_dlpack(of_type.sources).long(), to])


def _put_seeds(data, store, batch):
    """`data`: what is of the batch; `store`: what is of the seeds' type."""
    if batch.links is not None:
        return _put_links(data, batch.links)
    store.batch_size = batch.seeds
    store.seed_index = torch.from_dlpack(batch.seed_index).long()
    _put(store, "y", batch.labels if batch.targets is None else batch.targets)
    return None


def _put_links(data, links):
    """Positive links, then negative ones, as LinkNeighborLoader has them."""
    ends = [
        torch.cat([tensor_of(positive), tensor_of(negative)]).long()
        for positive, negative in (
            (links.sources, links.negative_sources),
            (links.destinations, links.negative_destinations),
        )
    ]
    data.edge_label_index = torch.stack(ends)
    data.edge_label = torch.zeros(len(ends[0]), device=ends[0].device)
    data.edge_label[: len(links.sources)] = 1
    if links.labels is not None:
        data.link_label = tensor_of(links.labels)
    if links.times is not None:
        data.link_time = tensor_of(links.times)
