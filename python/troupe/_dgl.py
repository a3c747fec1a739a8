"""Batches as blocks of DGL, as its DataLoader gives them."""

import dgl
import torch

from troupe._arrays import whole_of
from troupe._tensors import put, refuse_walks, tensor_of


def blocks_of(batch, graph, layers):
    """What DGL's DataLoader yields, of `batch`, whose structure is in host memory; rows are of its device, if it has one."""
    refuse_walks(batch, "to_dgl")
    if batch.subgraph != "directional":
        raise ValueError(
            f'to_dgl: expected sample.subgraph "directional", found "{batch.subgraph}", whose layers share all edges; '
            "try: batch.edges_of(…), or to_pyg"
        )
    if batch.links is not None and batch.links.replaced is not None:  # candidates may be an empty array, of a batch without links
        raise ValueError("to_dgl: expected links with negatives of their own, found triples; try: batch.links")
    if batch.hops == 0:
        raise ValueError("to_dgl: expected a batch with neighbors, found one of 0 hops, which has no blocks; try: batch.links")
    layers = batch.hops if layers is None else whole_of("layers", layers)
    if not 1 <= layers <= batch.hops:
        raise ValueError(f"to_dgl: expected 1 to {batch.hops} layers, as many as the batch has hops or fewer, found {layers}")
    made = _Blocks(batch, graph)
    blocks = [made.block(layer, layers) for layer in range(layers)]
    inputs = made.ids(nodes.hop_end[layers] for nodes in batch.all_nodes)
    made.put_features(blocks[0])
    if batch.links is not None:
        return inputs, *made.pair_graphs(), blocks
    made.put_labels(blocks[-1])
    return inputs, made.ids(nodes.hop_end[0] for nodes in batch.all_nodes), blocks


class _Blocks:
    def __init__(self, batch, graph):
        self._batch = batch
        self._rows = batch.on_device or batch
        self._device = torch.device(self._rows.device if self._rows.device.startswith("cuda") else "cpu")
        self._node_names = [of_type.name for of_type in graph.node_types]
        self._one_type = len(graph.node_types) == 1 and len(graph.edge_types) == 1
        self._original = [self._on_device(nodes.original_ids) for nodes in batch.all_nodes]

    def _on_device(self, array):
        return None if array is None else tensor_of(array).to(self._device)

    def _key(self, of_type):
        """As DGL names an edge type."""
        return self._node_names[of_type.source_type], of_type.name, self._node_names[of_type.destination_type]

    def _by_type(self, values):
        """DGL has what is by type without a dict where there is one type."""
        found = dict(zip(self._node_names, values))
        return next(iter(found.values())) if self._one_type else found

    def ids(self, counts):
        """Original ids of the first nodes of each type; their global ids where those were not asked for."""
        return self._by_type([self._first_ids(place, count) for place, count in enumerate(counts)])

    def _first_ids(self, place, count):
        if self._original[place] is None:
            return tensor_of(self._batch.all_nodes[place].ids)[: int(count)].to(self._device)
        return self._original[place][: int(count)]

    def block(self, layer, layers):
        edges, of_edges = {}, {}
        hop = layers - 1 - layer
        for of_type in self._batch.all_edges:
            found = self._batch.block(layer, layers, of_type.type)
            offsets = torch.from_dlpack(found.offsets)
            first, end = int(offsets[0]), int(offsets[-1])
            edges[self._key(of_type)] = (
                "csc",
                (offsets - first, torch.from_dlpack(found.sources)[first:end], torch.empty(0, dtype=torch.int32)),
            )
            of_edges[self._key(of_type)] = of_type, slice(first, end)
        counts = [[int(nodes.hop_end[h]) for nodes in self._batch.all_nodes] for h in (hop + 1, hop)]
        block = dgl.create_block(edges, *(dict(zip(self._node_names, of_side)) for of_side in counts)).to(self._device)
        for of_side, ids in zip(counts, (block.srcnodes, block.dstnodes)):
            for place, (name, count) in enumerate(zip(self._node_names, of_side)):
                ids[name].data[dgl.NID] = self._first_ids(place, count)
        for key, (of_type, range_) in of_edges.items():
            self._put_edges(block.edges[key].data, self._rows.all_edges[of_type.type], range_)
        return block

    def _put_edges(self, data, of_type, range_):
        values = {dgl.EID: of_type.edge_ids, "feat": of_type.features, "weight": of_type.weights, "time": of_type.times}
        for name, array in (*values.items(), *of_type.columns.items()):
            _put(data, name, None if array is None else self._on_device(array)[range_])

    def put_features(self, block):
        for name, nodes in zip(self._node_names, self._rows.all_nodes):
            data = block.srcnodes[name].data
            count = block.num_src_nodes(name)
            for key, array in (("feat", nodes.features), *nodes.columns.items()):
                _put(data, key, None if array is None else self._on_device(array)[:count])

    def put_labels(self, block):
        """A row per node, where a seed may occur more than once."""
        batch = self._rows
        labels = batch.labels if batch.targets is None else batch.targets
        if labels is not None:
            of_seeds = self._on_device(labels)
            name = self._node_names[batch.seed_type]
            rows = of_seeds.new_full((block.num_dst_nodes(name), *of_seeds.shape[1:]), -1)
            rows[self._on_device(batch.seed_index).long()] = of_seeds
            _put(block.dstnodes[name].data, "label", rows)

    def pair_graphs(self):
        """Graphs of the seeds alone: the positive links, and the negative ones."""
        links = self._batch.links
        nodes = {name: int(of_type.hop_end[0]) for name, of_type in zip(self._node_names, self._batch.all_nodes)}
        keys = [self._key(of_type) for of_type in self._batch.all_edges]
        ends = ((links.sources, links.destinations), (links.negative_sources, links.negative_destinations))
        graphs = []
        for pairs in ends:
            edges = dict.fromkeys(keys, (torch.empty(0, dtype=torch.int32),) * 2)
            edges[self._link_key(links)] = tuple(tensor_of(places) for places in pairs)
            of_pairs = dgl.heterograph(edges, nodes, idtype=torch.int32).to(self._device)
            for place, (name, count) in enumerate(nodes.items()):
                of_pairs.nodes[name].data[dgl.NID] = self._first_ids(place, count)
            graphs.append(of_pairs)
        data = graphs[0].edges[self._link_key(links)].data
        _put(data, "label", None if links.labels is None else self._on_device(links.labels))
        _put(data, "time", None if links.times is None else self._on_device(links.times))
        return graphs

    def _link_key(self, links):
        source, destination = (self._node_names[t] for t in (links.source_type, links.destination_type))
        return source, self._batch.all_edges[links.edge_type].name, destination


def _put(data, name, values):
    put(data, name, values, "to_dgl")
