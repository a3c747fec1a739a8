"""A batch: seeds, the nodes reached from them, and the edges between these, as arrays that share its memory.

A *place* is the position of a node among those of its type in the batch.
"""

import functools
import typing

from troupe._arrays import Array, array_of, column_of, count_of


class Block(typing.NamedTuple):
    """What one layer of a network works on. Destination i is also source i where both are of one node type."""

    destinations: int
    sources_count: int
    offsets: Array  # [destinations + 1] int32, positions in `sources`
    sources: Array  # [edges of the batch] int32, places; those of destination i are sources[offsets[i]:offsets[i + 1]]
    weights: typing.Optional[Array]  # [edges of the batch] float32


class Links(typing.NamedTuple):
    """The links of a batch whose seeds are links. Ends are places among the nodes of their types."""

    edge_type: int
    source_type: int
    destination_type: int
    sources: Array  # [positives] int32
    destinations: Array  # [positives] int32
    negative_sources: Array  # [positives * negatives of each] int32, those of one positive one after the other
    negative_destinations: Array  # as negative_sources
    labels: typing.Optional[Array]  # [positives] float32
    times: typing.Optional[Array]  # [positives] int64
    # Of triples, whose relations are `labels`, in the place of negatives: places of nodes that all triples of a chunk are
    # compared with, [chunks * candidates of each] int32 (Session.triples), in the place of their "tail" or "head". Without links: empty,
    # and None.
    candidates: typing.Optional[Array] = None
    replaced: typing.Optional[str] = None


class Walks:
    """Random walks, those of a seed one after the other."""

    def __init__(self, view, facts):
        self._view = view
        self.steps: int = facts["steps"]
        self.column_types: list = facts["column_types"]  # [steps + 1] places of node types
        self.nodes: Array = array_of(facts["nodes"])  # [walks, steps + 1] int32 places; -1: the walk has ended
        self.restarts: Array = array_of(facts["restarts"])  # int32 positions in nodes.reshape(-1), see sample.walks

    def __repr__(self):
        return f"Walks({len(self.nodes)}, steps={self.steps})"

    def pairs(self, window):
        """Pairs of nodes at most `window` steps apart: centers, contexts, int32 positions in nodes.reshape(-1)."""
        return tuple(array_of(values) for values in self._view.pairs(count_of("window", window, bits=32)))


class Nodes:
    """The nodes of one type in a batch: seeds first, then hop by hop."""

    def __init__(self, view, place, name, columns):
        self._view = view
        self.type: int = place
        self.name: str = name
        self.columns: dict = columns  # named columns: name -> [nodes, …] as stored (bfloat16 as uint16 words)

    @functools.cached_property
    def ids(self) -> Array:
        """[nodes] int64, global ids: what the calls of a session take."""
        return array_of(self._view.node_ids(self.type))

    @functools.cached_property
    def original_ids(self) -> typing.Optional[Array]:
        """[nodes] int64, as in the user's data; None if they were not asked for (sample_neighbors)."""
        return array_of(self._view.original_ids(self.type))

    @functools.cached_property
    def features(self) -> typing.Optional[Array]:
        """[nodes, columns] float32, normalized as the job says."""
        return array_of(self._view.features(self.type))

    @functools.cached_property
    def hop_end(self) -> Array:
        """[hops + 1] int32: nodes known after the seeds, after hop 1, …"""
        return array_of(self._view.hop_end(self.type))

    @functools.cached_property
    def trees(self) -> typing.Optional[Array]:
        """[nodes] int32: which seed's tree a node is in; None unless the batch is disjoint."""
        return array_of(self._view.trees(self.type))

    def __len__(self):
        return len(self.ids)

    def __repr__(self):
        return f"Nodes({self.name!r}, {len(self)})"


class Edges:
    """The sampled edges of one type, row by row: a row has the neighbors that were drawn for a node. Rows lie hop after hop."""

    def __init__(self, view, place, name, columns):
        self._view = view
        self.type: int = place
        self.name: str = name
        self.columns: dict = columns  # named columns: name -> [edges, …]
        self.source_type, self.destination_type = view.ends(place)  # places; the rows are of the destinations

    @functools.cached_property
    def offsets(self) -> Array:
        """[rows + 1] int32: row r has sources[offsets[r]:offsets[r + 1]]."""
        return array_of(self._view.offsets(self.type))

    @functools.cached_property
    def sources(self) -> Array:
        """[edges] int32, places of the neighbors."""
        return array_of(self._view.sources(self.type))

    @functools.cached_property
    def row_begin(self) -> Array:
        """[hops + 1] int32: rows of hop h are row_begin[h]:row_begin[h + 1]."""
        return array_of(self._view.row_begin(self.type))

    @functools.cached_property
    def edge_ids(self) -> typing.Optional[Array]:
        """[edges] int64, original ids, with sample.edge_data "ids"."""
        return array_of(self._view.edge_ids(self.type))

    @functools.cached_property
    def weights(self) -> typing.Optional[Array]:
        """[edges] float32."""
        return array_of(self._view.weights(self.type))

    @functools.cached_property
    def times(self) -> typing.Optional[Array]:
        """[edges] int64."""
        return array_of(self._view.times(self.type))

    @functools.cached_property
    def features(self) -> typing.Optional[Array]:
        """[edges, columns] float32, with sample.edge_data "features"."""
        return array_of(self._view.edge_features(self.type))

    @functools.cached_property
    def index(self) -> Array:
        """[2, edges] int64, made when first asked for: places of sources, and of the nodes that they were drawn for."""
        return array_of(self._view.edge_index(self.type))

    @functools.cached_property
    def per_hop(self) -> list:
        """How many edges were drawn in each hop."""
        return self._view.edges_per_hop(self.type)

    def __len__(self):
        return len(self.sources)

    def __repr__(self):
        return f"Edges({self.name!r}, {len(self)})"


class Batch:
    """One batch of a rank. Keep it, or any of its arrays, as long as you like: the memory stays.

    With `troupe.run(…, device_batches=True)` the batch is in the memory of the rank's device as well: `on_device` has its
    arrays there, and features of nodes, which are there alone.
    `nodes`, `original_ids`, `features` and `hop_end` are those of the seeds' node type, `edges` are by place; `nodes_of` and
    `edges_of` take a name or a place.
    """

    def __init__(self, view, graph):
        self._view = view
        self._graph = graph
        self.epoch: int = view.epoch
        self.number: int = view.number  # global, in the epoch
        self.hops: int = view.hops
        self.seeds: int = view.seeds  # nodes, or positive links; 0: the rank has no batch in this step
        self.frontier: str = view.frontier  # "new", "all"
        self.subgraph: str = view.subgraph  # "directional", "bidirectional", "induced"
        self.disjoint: bool = view.disjoint
        self.seed_type: int = view.seed_type
        self.device: str = view.device  # where the arrays are: "cpu", "cuda:0", "emulated:0"

    def __repr__(self):
        nodes, edges = ({of.name: len(of) for of in types if len(of) > 0} for types in (self.all_nodes, self.all_edges))
        return f"Batch(epoch={self.epoch}, number={self.number}, seeds={self.seeds}, nodes={nodes}, edges={edges})"

    @functools.cached_property
    def on_device(self) -> typing.Optional["Batch"]:
        """The same batch with its arrays in the memory of the rank's device; None where it is in host memory alone.

        Its arrays are DeviceArrays on a GPU, and Arrays on an emulated device. `hop_end`, `row_begin`, `index` and pairs of
        walks are in host memory.
        """
        view = self._view.on_device
        return None if view is None else Batch(view, self._graph)

    @functools.cached_property
    def _columns(self):
        """By whether they are of edges, and by type."""
        found = {}
        for of_edges, place, (name, *values) in self._view.columns:
            found.setdefault((of_edges, place), {})[name] = column_of(*values)
        return found

    @functools.cached_property
    def all_nodes(self) -> typing.List[Nodes]:
        """By node type."""
        names = [t.name for t in self._graph.node_types]
        return [Nodes(self._view, t, name, self._columns.get((False, t), {})) for t, name in enumerate(names)]

    @functools.cached_property
    def all_edges(self) -> typing.List[Edges]:
        """By edge type."""
        names = [t.name for t in self._graph.edge_types]
        return [Edges(self._view, t, name, self._columns.get((True, t), {})) for t, name in enumerate(names)]

    def nodes_of(self, node_type) -> Nodes:
        return self.all_nodes[self._graph.node_type(node_type)]

    def edges_of(self, edge_type) -> Edges:
        return self.all_edges[self._graph.edge_type(edge_type)]

    @property
    def nodes(self) -> Array:
        """[nodes] int64, global ids."""
        return self.all_nodes[self.seed_type].ids

    @property
    def original_ids(self) -> typing.Optional[Array]:
        """[nodes] int64."""
        return self.all_nodes[self.seed_type].original_ids

    @property
    def features(self) -> typing.Optional[Array]:
        """[nodes, columns] float32."""
        return self.all_nodes[self.seed_type].features

    @property
    def hop_end(self) -> Array:
        """[hops + 1] int32."""
        return self.all_nodes[self.seed_type].hop_end

    @functools.cached_property
    def seed_index(self) -> Array:
        """[seeds] int32: place of each seed; of links, of all their ends."""
        return array_of(self._view.seed_index)

    @functools.cached_property
    def labels(self) -> typing.Optional[Array]:
        """[seeds] int64, -1: unlabelled; None if the seeds' type has no classes."""
        of_type = self._graph.node_types[self.seed_type]
        has_classes = of_type.classes > 0 and not of_type.targets and self.links is None
        return array_of(self._view.labels) if has_classes else None

    @functools.cached_property
    def targets(self) -> typing.Optional[Array]:
        """[seeds, labels] float32, for types with several labels per node."""
        return array_of(self._view.targets)

    @functools.cached_property
    def links(self) -> typing.Optional[Links]:
        """Where seeds are links."""
        facts = self._view.links
        if facts is None:
            return None
        return Links(**{name: value if isinstance(value, (int, str)) else array_of(value) for name, value in facts.items()})

    @functools.cached_property
    def walks(self) -> typing.Optional[Walks]:
        """Where task.kind is "walk"."""
        facts = self._view.walks
        return None if facts is None else Walks(self._view, facts)

    def block(self, layer, layers, edge_type=None) -> Block:
        """The edges that layer `layer` (0: nearest the input) of a network with `layers` layers needs."""
        place = self._graph.edge_type(edge_type)
        layer, layers = count_of("layer", layer, bits=32), count_of("layers", layers, bits=32)
        destinations, sources_count, *arrays = self._view.block(layer, layers, place)
        return Block(destinations, sources_count, *(array_of(values) for values in arrays))

    def to_pyg(self):
        """The batch for PyTorch Geometric: `Data`, or `HeteroData` on a graph of several types; see docs/python.md.

        Features, ids, labels and columns share the batch's memory, that of its device where it is on one; `edge_index` is
        new.
        """
        from troupe import _pyg

        return _pyg.data_of(self.on_device or self, self._graph)

    def to_dgl(self, layers=None):
        """The batch as DGL's DataLoader has it: input nodes, output nodes and a list of blocks, that of the inputs first; of
        links input nodes, the graphs of the positive and the negative ones, and the blocks; see docs/python.md.

        `layers` blocks, one for each hop if it is not given.
        """
        from troupe import _dgl

        return _dgl.blocks_of(self, self._graph, layers)
