"""A rank's view of a run."""

import math
import typing

import numpy

from troupe import _device, _gradients, _seeded, _state
from troupe._arrays import Array, array_of, column_of, count_of, detached, ids_of, int64_of, whole_of
from troupe._batch import Batch
from troupe._embedding import Embedding
from troupe._errors import Error
from troupe._tensor import Tensor, dtype_name


class NodeType(typing.NamedTuple):
    name: str
    count: int
    columns: int  # of features; 0: none
    classes: int  # or columns of targets; 0: no labels
    targets: bool  # several labels per node
    named: tuple  # names of its named columns


class EdgeType(typing.NamedTuple):
    name: str
    source: int  # place of a node type
    destination: int
    count: int
    columns: int  # of features; 0: none
    named: tuple


class Graph:
    """What the graph consists of: `node_types` and `edge_types`, lists of NodeType and EdgeType."""

    def __init__(self, facts):
        self.node_types = [NodeType(**{**t, "named": tuple(t["named"])}) for t in facts["node_types"]]
        self.edge_types = [EdgeType(**{**t, "named": tuple(t["named"])}) for t in facts["edge_types"]]
        self._nodes = {t.name: place for place, t in enumerate(self.node_types)}
        self._edges = {t.name: place for place, t in enumerate(self.edge_types)}

    def __repr__(self):
        nodes, edges = ({t.name: t.count for t in types} for types in (self.node_types, self.edge_types))
        return f"Graph(nodes={nodes}, edges={edges})"

    def node_type(self, which):
        """Place of a node type that is given by name or place; None: the only one."""
        return _place(self._nodes, self.node_types, which, "node type")

    def edge_type(self, which):
        """Place of an edge type that is given by name or place; None: the only one."""
        return _place(self._edges, self.edge_types, which, "edge type")


def _place(names, types, which, what):
    if which is None:
        if len(types) != 1:
            raise ValueError(f"{what}: expected one of {', '.join(names)}, since there are several; got none")
        return 0
    if isinstance(which, str):
        if which not in names:
            raise KeyError(f"{what}: expected one of {', '.join(names)}, got {which!r}")
        return names[which]
    place = whole_of(what, which)
    if not 0 <= place < len(types):
        raise IndexError(f"{what}: expected 0 to {len(types) - 1}, got {place}")
    return place


class Seeds(typing.NamedTuple):
    """Nodes of a split."""

    node_type: int
    nodes: Array  # [seeds] int64, global ids: what the calls of a session take
    original_ids: Array  # [seeds] int64, as in the user's data
    times: typing.Optional[Array]  # [seeds] int64


class Triples(typing.NamedTuple):
    """What batches of triples are made of: links whose labels are relations."""

    relations: int  # labels are below it
    chunk: int  # triples that share candidates; the last ones of a batch may be fewer
    candidates: int  # of each chunk


class LinkSeeds(typing.NamedTuple):
    """Links of a split."""

    edge_type: int
    nodes: Array  # [2, links] int64, global ids of sources and destinations
    original_ids: Array  # [2, links] int64
    times: typing.Optional[Array]  # [links] int64
    labels: typing.Optional[Array]  # [links] float32
    edge_types: typing.Optional[Array] = None  # [links] int64, places of edge types, of a split with several


class Rows(typing.NamedTuple):
    """What the graph knows of nodes, in the order asked for."""

    features: typing.Optional[Array]  # [nodes, columns] float32, normalized as the job says
    original_ids: Array  # [nodes] int64
    labels: typing.Optional[Array]  # [nodes] int64, -1: unlabelled
    targets: typing.Optional[Array]  # [nodes, labels] float32
    columns: dict  # by name: those that features.columns of the job names


def _seeds_of(facts):
    arrays = {name: array_of(facts[name]) for name in ("nodes", "original_ids", "times")}
    return Seeds(node_type=facts["node_type"], **arrays)


def _links_of(facts):
    return LinkSeeds(facts.pop("edge_type"), **{name: array_of(values) for name, values in facts.items()})


def _is_local(way):
    if way not in ("even", "local"):
        raise ValueError(f'way: expected "even" or "local", got {way!r}')
    return way == "local"


def _host_vector(values):
    """The array that the module changes in place; of a PyTorch tensor one over its memory."""
    return detached(values).numpy() if hasattr(values, "detach") else values


def _ids_or_mask(what, values):
    """Ids as int64, or a mask as bytes, and which of the two."""
    array = numpy.asarray(values)
    if array.dtype.kind == "b":
        return numpy.ascontiguousarray(array.reshape(-1)).view(numpy.uint8), True
    return ids_of(what, values), False


class Session:
    """One rank's view of a run. Only for the thread that its function is called on, and until that returns.

    All ranks together make `epoch` loops, `end_step`, `all_reduce…` and `barrier`: the same ones in the same order. Node and
    edge types are given by name or place, and may be left out where the graph has one. Calls raise troupe.Error; the
    interpreter's lock is free while they wait.
    """

    def __init__(self, handle):
        self._handle = handle
        self._seeds = None  # how many the batch of this turn has
        self._keeper = None
        self._has_hooks = False
        self._deleted = {}  # by name: how many tensors were deleted
        self.rank: int = handle.rank
        self.world: int = handle.world  # number of ranks
        self.role: str = handle.role
        self.local_rank: int = handle.local_rank  # among the ranks of its host, from 0
        self.local_world: int = handle.local_world  # ranks of its host
        self.devices: list = handle.devices  # ["cuda:0"], as torch.device takes it, or ["emulated:0"]; empty on a CPU
        self.device: str = next((d for d in self.devices if d.startswith("cuda")), "cpu")  # for torch.device
        self.columns: int = handle.columns  # of the features of the seeds' type; 0: none
        self.classes: int = handle.classes  # or columns of targets; 0: none
        self.seed: int = handle.seed  # of the job
        self.epochs: int = handle.epochs  # train.epochs of the job
        triples = handle.triples
        self.triples: typing.Optional[Triples] = triples and Triples(*triples)  # where task.kind is "knowledge"
        self.first_epoch: int = handle.first_epoch  # with which a resumed run continues; else 0
        self.steps_per_epoch: int = handle.steps_per_epoch
        self.graph = Graph(handle.graph())

    def __repr__(self):
        return f"Session(rank={self.rank}, world={self.world}, device={self.device!r}, graph={self.graph})"

    # ---- seeds ----

    def seeds(self, role) -> Seeds:
        """This rank's even share of the nodes of "train", "val" or "test", in order of original ids."""
        return _seeds_of(self._handle.seeds(role))

    def links(self, role) -> LinkSeeds:
        """This rank's even share of the links of a role, where task.kind of the job is "link"."""
        return _links_of(self._handle.links(role))

    def edges(self, edge_type=None) -> range:
        """This rank's even share of the edges of a type: original edge ids."""
        first, count = self._handle.edges(self.graph.edge_type(edge_type))
        return range(first, first + count)

    # ---- shares of what all ranks name alike ----

    def find_nodes(self, original_ids, node_type=None) -> Array:
        """Global ids of nodes by their original ids, [nodes] int64, in the order given; duplicates allowed."""
        return array_of(self._handle.find_nodes(ids_of("original_ids", original_ids), self.graph.node_type(node_type)))

    def split_nodes(self, nodes, way="even", node_type=None) -> Seeds:
        """This rank's share of nodes that every rank names alike, in their order.

        nodes  original ids, or a mask: bool for every node of the type, by original id
        way    "even": one stretch after the other; "local": as even, and near the ranks where they can be
        """
        values, is_mask = _ids_or_mask("nodes", nodes)
        return _seeds_of(self._handle.split_nodes(values, is_mask, _is_local(way), self.graph.node_type(node_type)))

    def split_seeds(self, role, way="even") -> Seeds:
        """This rank's share of the nodes of "train", "val" or "test"."""
        return _seeds_of(self._handle.split_seeds(role, _is_local(way)))

    def split_links(self, role, way="even") -> LinkSeeds:
        """This rank's share of the links of a role; "local": near the lists of neighbors that they are in."""
        return _links_of(self._handle.split_links(role, _is_local(way)))

    def split_edges(self, edges, way="even", edge_type=None) -> Array:
        """This rank's share of edges that every rank names alike: original edge ids, or a mask by original edge id."""
        values, is_mask = _ids_or_mask("edges", edges)
        return array_of(self._handle.split_edges(values, is_mask, _is_local(way), self.graph.edge_type(edge_type)))

    # ---- batches ----

    def epoch(self, number):
        """Iterator over this rank's batches of an epoch, steps_per_epoch of them: `for batch in session.epoch(e):`.

        A rank that has none in the last step gets one without seeds. In a resumed run, turns that were made before are left
        out. The first call hands the saved state to the restore hook. A call ends the epoch before: its iterator raises then.
        """
        _seeded.check_collective()
        return self._turns(self._handle.epoch(count_of("epoch", number, bits=32)))

    def _turns(self, turns):
        for view in turns:
            self._seeds = view.seeds
            yield Batch(view, self.graph)
            _seeded.check_collective()
        self._seeds = None

    def end_step(self):
        """Ends a turn, after the model was updated: the batch enters the digest, and a checkpoint is made where one is due.

        Raises Cancelled after Ctrl-C, with the state in a checkpoint.
        """
        _seeded.check_collective()
        self._handle.end_step()

    @property
    def global_step(self) -> int:
        """Turns of the run that are over."""
        return self._handle.global_step

    @property
    def digest(self) -> str:
        """Running digest of all ranks' batches up to the last end_step(), 32 hexadecimal digits."""
        return self._handle.digest

    # ---- the graph, at any time ----

    def sample_neighbors(self, nodes, fanout, *, node_type=None, epoch=0, number=0, with_rows=False, times=None) -> Batch:
        """Samples the neighborhood of nodes (global ids; duplicates allowed).

        fanout: a number per hop, -1 for all neighbors. The same request with the same `epoch` and `number` gives the same
        neighbors. with_rows: features, original ids and labels as well. times: [nodes] int64, only edges before them.
        """
        fanout = [whole_of("fanout", k) for k in fanout]
        if any(abs(k) >= 1 << 31 for k in fanout):
            raise ValueError(f"fanout: expected numbers from -1 (all neighbors) to {1 << 20}, got {fanout}")
        view = self._handle.sample_neighbors(
            ids_of("nodes", nodes), fanout, self.graph.node_type(node_type),
            count_of("epoch", epoch, bits=32), count_of("number", number), with_rows,
            None if times is None else int64_of(times),
        )  # fmt: skip
        return Batch(view, self.graph)

    def read_rows(self, nodes, node_type=None) -> Rows:
        """Features, original ids and labels of nodes (global ids; duplicates allowed), wherever they are kept."""
        facts = self._handle.read_rows(ids_of("nodes", nodes), self.graph.node_type(node_type))
        columns = {name: column_of(*values) for name, *values in facts.pop("columns")}
        return Rows(columns=columns, **{name: array_of(values) for name, values in facts.items()})

    def read_column(self, name, nodes, node_type=None) -> Array:
        """A named column of nodes, [nodes, …] as it is stored, also one that features.columns does not name."""
        _, *values = self._handle.read_column(name, ids_of("nodes", nodes), self.graph.node_type(node_type))
        return column_of(*values)

    def degrees(self, nodes, edge_type=None, direction="in") -> Array:
        """[nodes] int64: how many edges of a type are in the lists of nodes; `direction` is "in" or "out"."""
        if direction not in ("in", "out"):
            raise ValueError(f'direction: expected "in" or "out", got {direction!r}')
        return array_of(self._handle.degrees(ids_of("nodes", nodes), self.graph.edge_type(edge_type), direction == "in"))

    def find_edges(self, edge_ids, edge_type=None):
        """Global ids of the nodes that edges are between: two arrays [edges] int64. Costs a pass over the graph's edge ids."""
        ends = self._handle.find_edges(ids_of("edge_ids", edge_ids), self.graph.edge_type(edge_type))
        return tuple(array_of(values) for values in ends)

    # ---- learned rows ----

    def embedding(self, node_type=None) -> Embedding:
        """Learned rows of a node type that `embedding` of the job file names."""
        if not isinstance(node_type, str):
            node_type = self.graph.node_types[self.graph.node_type(node_type)].name
        return Embedding(self, node_type)

    # ---- tensors by name, kept by the holders of the graph's parts ----

    def tensor(self, name, shape=None, *, dtype="f32", node_type=None, edge_type=None, rows=None, init=None) -> Tensor:
        """A tensor that was made, a named column of nodes or edges, or with `shape` a new tensor.

        shape      of a row, () for one number; a tensor is made, by all ranks together, and before the first epoch() where
                   checkpoints are to put it back; once more with the same facts it is the same tensor
        dtype      f32, f64, f16, bf16, i32, i64, u8, or NumPy's name
        node_type  a row for each node of the type, by global id; may be left out where the graph has one type
        edge_type  a row for each edge of the type, by original edge id; without `shape` the type's column of that name,
                   whose reads cost a pass over the graph's edge ids: ask for many rows at once
        rows       so many rows that belong to nothing
        init       None: zeros; of float numbers also ("normal", standard deviation) or ("uniform", bound), by the tensor's
                   name and the original id
        """
        if shape is None and edge_type is not None:
            place = self.graph.edge_type(edge_type)
            return Tensor(self, self._handle.column(name, place, True), place, of_edges=True)
        if shape is None:
            return self._tensor(name, node_type)
        if edge_type is not None and node_type is not None or (rows is not None and (node_type, edge_type) != (None, None)):
            raise ValueError("expected one of node_type, edge_type and rows")
        if rows is not None:
            of, what = "rows", count_of("rows", rows)
        elif edge_type is not None:
            of, what = "edges", self.graph.edge_type(edge_type)
        else:
            of, what = "nodes", self.graph.node_type(node_type)
        shape = [count_of("shape", extent) for extent in (shape if hasattr(shape, "__iter__") else (shape,))]
        if init is not None and (isinstance(init, str) or len(init) != 2):
            raise ValueError(f'init: expected ("normal", standard deviation) or ("uniform", bound), got {init!r}')
        kind, size = ("zeros", 1.0) if init is None else init
        _seeded.check_collective()
        return Tensor(self, self._handle.make_tensor(name, of, what, dtype_name(dtype), shape, (kind, float(size))))

    def _tensor(self, name, node_type):
        types = self.graph.node_types
        wanted = range(len(types)) if node_type is None else [self.graph.node_type(node_type)]
        found = [t for t in wanted if name in types[t].named]
        if node_type is None:
            try:
                return Tensor(self, self._handle.tensor(name))
            except Error as error:
                if error.code != "not_found" or len(found) != 1:
                    raise
        place = found[0] if found else wanted[0]
        return Tensor(self, self._handle.column(name, place, False), place)

    def delete_tensor(self, name):
        """Deletes a tensor; by all ranks together."""
        _seeded.check_collective()
        self._handle.delete_tensor(name)
        self._deleted[name] = self._deleted.get(name, 0) + 1

    # ---- all ranks together ----

    def all_reduce(self, values):
        """Replaces a float32 array by its sum over the ranks, added in rank order. In place; must have no gaps.

        values  a NumPy array, a tensor of PyTorch in host memory, or an array in the memory of the rank's CUDA device (of
                PyTorch, CuPy, …), which stays there
        """
        there = _device.vector_of(values)
        _seeded.check_collective()
        if there is None:
            self._handle.all_reduce(_host_vector(values))
        else:
            self._handle.all_reduce_there(*there)

    def all_reduce_mean(self, values, weight) -> int:
        """As all_reduce, divided by the sum of the ranks' weights, which is returned. Rank with weight 0: adds nothing."""
        there = _device.vector_of(values)
        weight = count_of("weight", weight)
        _seeded.check_collective()
        if there is None:
            return self._handle.all_reduce_mean(_host_vector(values), weight)
        return self._handle.all_reduce_mean_there(*there, weight)

    def all_reduce_gradients(self, gradients, *, seeds=None, of_sum=False) -> int:
        """Replaces gradients by those of the mean over all ranks' seeds, added in rank order: the same bits on every rank.

        gradients  a PyTorch module, optimizer, parameter or list of parameters (their `.grad`; one without counts as zeros;
                   those that are frozen are passed over), or a NumPy array of float32, or a list of them; in place
        seeds      how many seeds this rank's gradients are of; by default those of the batch of this turn
        of_sum     the loss was a sum over these seeds; else a mean

        Returns the number of seeds of all ranks. Raises TypeError for tensors that get no gradient, as gradients themselves,
        and ValueError where nothing is left to add.
        """
        if seeds is None and self._seeds is None:
            raise ValueError("seeds: expected their number, since this is not a turn of an epoch")
        seeds = self._seeds if seeds is None else count_of("seeds", seeds)
        return _gradients.all_reduce(self, gradients, seeds, of_sum)

    def broadcast(self, parameters):
        """Gives all ranks rank 0's parameters and buffers: a PyTorch module, or NumPy arrays of float32; in place."""
        _gradients.broadcast(self, parameters)

    def barrier(self, seconds=60.0):
        """Waits for all ranks. Raises Error (deadline_exceeded) with those that are missing; it may be called again then."""
        if not 0 <= seconds < math.inf:
            raise ValueError(f"seconds: expected a finite number from 0 on, got {seconds}")
        _seeded.check_collective()
        self._handle.barrier(seconds)

    # ---- checkpoints ----

    def on_save(self, hook):
        """`hook()` gives this rank's state between two steps as bytes; called inside end_step. Not together with keep()."""
        self._set_hooks()
        self._handle.on_save(hook)

    def on_restore(self, hook):
        """`hook(bytes)` takes what the save hook of the same rank gave; called by the first epoch() of a resumed run."""
        self._set_hooks()
        self._handle.on_restore(hook)

    def _set_hooks(self):
        """A hook would take the place of that of keep()."""
        if self._keeper is not None:
            raise RuntimeError("on_save, on_restore: expected no keep() before; try: keep() for all, or hooks for all")
        self._has_hooks = True

    def keep(self, **things):
        """Saves and restores things by name instead of hooks of your own: `session.keep(model=model, optimizer=optimizer)`.

        Each is a NumPy array, which is restored in place, or has state_dict() and load_state_dict(), as PyTorch's modules,
        optimizers and schedulers do. To be called before the first epoch(); several calls add up. Raises TypeError for an
        object whose state would not be read back: beside tensors it may have numbers, strings, dicts, lists and tuples.
        Raises RuntimeError beside hooks of your own.
        """
        if self._has_hooks:
            raise RuntimeError("keep: expected no on_save() or on_restore() before; try: keep() for all, or hooks for all")
        if self._keeper is None:
            self._keeper = _state.Keeper()
            self._handle.on_save(self._keeper.save)
            self._handle.on_restore(self._keeper.restore)
        self._keeper.add(things)
