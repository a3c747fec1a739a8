"""Graphs of PyTorch Geometric and DGL as arrays that `troupe import` reads."""

import json
import os
import re
import typing

import numpy

_ROLES = {f"{role}_mask": role for role in ("train", "val", "test")}
_KEPT = ("uint8", "float16", "float32", "float64", "int32", "int64")  # in columns
_WIDER = {"bool": "uint8", "int8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64"}


class _Names(typing.NamedTuple):
    """What attributes of a graph are called that do not become columns."""

    features: str
    labels: str
    edge_features: str
    weights: str
    times: str
    links: tuple = ()


_OF_PYG = _Names("x", "y", "edge_attr", "edge_weight", "edge_time", ("edge_label_index", "edge_label"))


def save_pyg(data, folder, *, val=None, test=None, drawn_pairs=None):
    """Writes a `Data` or `HeteroData` of PyTorch Geometric as .npy files and arrays.json, which names them.

    `troupe import FOLDER STORE` makes a store of the folder; `dataset.path` of a job may also name the folder itself.

    data       x           features, dense or sparse, [N] or [N, K]; edge_attr those of edges; with more extents they are columns
               y           classes of nodes, integers [N] or [N, 1]; targets of several labels, [N, K] of 0, 1 and NaN; any other
                           floats are numbers to predict
               train_mask, val_mask, test_mask
                           [N]: the default split; [N, K]: splits mask0, mask1, …
               edge_index, edge_weight, edge_time
                           edges from the nodes of row 0 to those of row 1, with weights and times
               Other tensors with a row per node or edge become columns of their names (`features.columns` of a job).
    folder     must not exist
    val, test  with `data` the three that RandomLinkSplit makes: edge_label_index of each becomes the links of its role. Edges and
               rows are those of `data`.
    drawn_pairs
               True: pairs whose edge_label is 0 are no links, as RandomLinkSplit marks those that it draws. Those of val and test
               become TYPE_val_negatives.npy and TYPE_test_negatives.npy, which `eval.negatives` of a job takes.
               False: 0 is a label as others are, a class or a rating. None: as True where all labels are 0 and 1.

    Names of types are those of the data; `node` and `edge` of a `Data`. An edge type has the name of its relation, and where
    others have the same SOURCE.RELATION.DESTINATION.
    Returns the names of attributes that are not written: those without a row per node or edge, and those whose rows are empty, as
    of shape [N, 0].
    Raises ValueError: no edges or number of nodes; a name, element type or shape that stores do not have; sparse tensors other than
    x; labels of links with 0 and others than 1, where drawn_pairs does not say what 0 means.
    """
    if not hasattr(data, "edge_attrs") and not hasattr(data, "edge_types"):
        raise TypeError(f"data: expected a Data or HeteroData, found {type(data).__name__}")
    arrays = _Arrays(_OF_PYG)
    graph = _graph_of(data, arrays)
    for role, of_role in {"train": data, "val": val, "test": test}.items():
        for name, (_, _, store) in _types_of(of_role)[1].items() if of_role is not None else ():
            _add_links(arrays, name, role, store, graph["links"], drawn_pairs)
    arrays.write(folder, graph)
    if not hasattr(data, "node_types"):
        return arrays.left_out([("", data)])
    nodes, edges = _types_of(data)
    stores = [*nodes.items(), *((name, store) for name, (_, _, store) in edges.items())]
    return arrays.left_out([*stores, ("", data.stores[0])])  # and what belongs to no type


def save_dgl(graph, folder, *, features="feat", labels="label", weights="weight", times="time"):
    """Writes a `DGLGraph` as save_pyg() writes a `Data` or `HeteroData`.

    ndata      `features` and `labels`, of the shapes of x and y there; train_mask, val_mask, test_mask
    edata      `features`, `weights`, `times`
               Other tensors become columns of their names, but dgl.NID and dgl.EID. Those whose rows are empty are left out.
    folder     must not exist

    Names of types are those of the graph; `node` and `edge` where they have none. An edge type has the name of its relation, and
    where others have the same SOURCE.RELATION.DESTINATION.
    Raises ValueError: a block; a name or element type that stores do not have; a name given here that no type has.
    """
    if graph.is_block:
        raise ValueError("expected a graph, found a block; try: the graph that it was sampled from")
    found = {name for key in graph.ntypes for name in graph.nodes[key].data}
    found.update(name for key in graph.canonical_etypes for name in graph.edges[key].data)
    given = {"features": (features, "feat"), "labels": (labels, "label"), "weights": (weights, "weight"), "times": (times, "time")}
    for what, (name, by_default) in given.items():
        if name != by_default and name not in found:
            raise ValueError(f"expected {what} named {name!r}, found {', '.join(sorted(found)) or 'no tensors'}")
    arrays = _Arrays(_Names(features, labels, features, weights, times))
    arrays.write(folder, _graph_of(_DglGraph(graph), arrays))


class _DglGraph:
    """A DGLGraph as a HeteroData."""

    def __init__(self, graph):
        self.node_types = [_named(key) for key in graph.ntypes]
        self.edge_types = [tuple(map(_named, key)) for key in graph.canonical_etypes]
        of_nodes = [_DglStore(graph.nodes[key].data, num_nodes=graph.num_nodes(key)) for key in graph.ntypes]
        of_edges = [_DglStore(graph.edges[key].data, edge_index=_ends(graph, key)) for key in graph.canonical_etypes]
        self._stores = dict(zip((*self.node_types, *self.edge_types), (*of_nodes, *of_edges)))

    def __getitem__(self, key):
        return self._stores[key]


def _named(name):
    return {"_N": "node", "_E": "edge"}.get(name, name)


def _ends(graph, key):
    return numpy.stack([_array(of_end) for of_end in graph.formats("coo").edges(etype=key, order="eid")])


class _DglStore(dict):
    def __init__(self, data, **structure):
        super().__init__({name: data[name] for name in data if name != "_ID"})  # dgl.NID, dgl.EID
        for name in structure:
            if name in self:
                raise ValueError(f"expected another name than {name!r} of a tensor, which the graph's structure has")
        self.update(structure)

    @property
    def num_nodes(self):
        return self["num_nodes"]

    def is_node_attr(self, key):
        return key != "num_nodes"

    def is_edge_attr(self, _):
        return True


def _graph_of(data, arrays):
    """What arrays.json says."""
    nodes, edges = _types_of(data)
    for name in (*nodes, *edges):
        _check_name(name, name)
    for name, (source, destination, store) in edges.items():
        if "edge_index" not in store:
            raise ValueError(f"{name}: expected edge_index, found none; try: the data before ToSparseTensor")
        for end in (source, destination):
            if end not in nodes:
                raise ValueError(f"{end}: expected num_nodes, or a tensor with a row per node, found neither")
    graph = {"node_types": {}, "edge_types": {}, "splits": {}, "links": {}}
    for name, store in nodes.items():
        graph["node_types"][name] = _node_type(arrays, name, store, graph["splits"])
    for name, (source, destination, store) in edges.items():
        graph["edge_types"][name] = {"source": source, "destination": destination, **_edge_type(arrays, name, store)}
    return graph


def _types_of(data):
    """Node types by name; edge types by name, with the names of their ends' types."""
    if not hasattr(data, "node_types"):
        return {"node": data}, {"edge": ("node", "node", data)}
    relations = [relation for _, relation, _ in data.edge_types]
    edges = {}
    for source, relation, destination in data.edge_types:
        name = relation if relations.count(relation) == 1 else f"{source}.{relation}.{destination}"
        edges[name] = source, destination, data[source, relation, destination]
    return {name: data[name] for name in data.node_types}, edges


def _check_name(name, place):
    if not re.fullmatch(r"(?!\.)[A-Za-z0-9_.-]{1,100}", name):
        raise ValueError(f"{place}: expected a name of 1 to 100 of a-z A-Z 0-9 _ - . (no '.' first), found {name!r}")


class _Arrays:
    """Arrays by file name, and the attributes that they were made from."""

    def __init__(self, names):
        self.names = names
        self._files = {}
        self._taken = set()

    def add(self, array, *words):
        """Returns the name of the array's file."""
        name = "_".join(re.sub(r"\W", "_", word) for word in words)
        while name in self._files:
            name += "_"
        self._files[name] = numpy.ascontiguousarray(array)
        return name + ".npy"

    def take(self, name, store, belongs):
        """The names and values in a store that belong to its nodes or edges. Rows of nothing, as [N, 0] has, are left out."""
        for key in list(store.keys()):
            value = store[key]
            if not belongs(key) or key in self.names.links or _is_text(value):
                continue
            if _is_sparse(value) and key != self.names.features:
                raise ValueError(f"{name}.{key}: expected a dense tensor, found a sparse one; try: its to_dense()")
            if 0 in _row_shape(value) and key != "edge_index":
                continue
            self._taken.add((id(store), key))
            yield key, value

    def write(self, folder, graph):
        os.makedirs(folder)
        for name, array in self._files.items():
            numpy.save(os.path.join(folder, name + ".npy"), array)
        with open(os.path.join(folder, "arrays.json"), "w") as out:
            json.dump(graph, out, indent=2)
            out.write("\n")

    def left_out(self, stores):
        return [
            f"{name}.{key}".lstrip(".")
            for name, store in stores
            for key in store.keys()
            if (id(store), key) not in self._taken and key not in (*self.names.links, "num_nodes")
        ]


def _node_type(arrays, name, store, splits):
    if store.num_nodes is None:
        raise ValueError(f"{name}: expected num_nodes, or a tensor with a row per node, found neither")
    found = {"count": int(store.num_nodes), "columns": {}}
    names = arrays.names
    # PyG does not count sparse features as those of nodes.
    for key, value in arrays.take(name, store, lambda key: key == names.features or store.is_node_attr(key)):
        if key == names.features and len(_row_shape(value)) < 2:
            found["features"] = _features(arrays, name, value)
        elif key == names.labels:
            _check_extents(name, key, value, 1)
            found["labels"] = _labels(arrays, name, value)
        elif key in _ROLES:
            _check_extents(name, key, value, 1)
            _add_masks(arrays, name, _ROLES[key], _array(value), splits)
        else:
            found["columns"][key] = _column(arrays, name, key, value)
    return found


def _edge_type(arrays, name, store):
    found = {"columns": {}}
    names = arrays.names
    values_of = {names.weights: "weights", names.times: "times"}
    for key, value in arrays.take(name, store, store.is_edge_attr):
        if key == "edge_index":
            found["edges"] = arrays.add(_array(value), name, "edges")
        elif key == names.edge_features and len(_row_shape(value)) < 2:
            found["features"] = arrays.add(_floats(value), name, "features")
        elif key in values_of:
            found[values_of[key]] = arrays.add(_floats(value).reshape(-1), name, values_of[key])
        else:
            found["columns"][key] = _column(arrays, name, key, value)
    return found


def _add_links(arrays, name, role, store, links, drawn_pairs):
    if "edge_label_index" not in store:
        return
    ends = _array(store["edge_label_index"]).T
    labels = _array(store["edge_label"]) if "edge_label" in store else numpy.ones(len(ends))
    if labels.shape != ends.shape[:1]:
        raise ValueError(
            f"{name}.edge_label of {role}: expected a label for each of {len(ends)} links, found shape {list(labels.shape)}"
        )
    binary = numpy.all((labels == 0) | (labels == 1))
    if drawn_pairs is None and not binary and not numpy.all(labels):
        raise ValueError(
            f"{name}.edge_label: expected drawn_pairs=True or False to say whether pairs of {role} with label 0 are drawn ones, "
            f"found {numpy.count_nonzero(labels == 0)} of them beside other labels than 1"
        )
    drawn = (labels == 0) & (drawn_pairs is not False)
    if role != "train" and numpy.any(drawn):
        arrays.add(ends[drawn], name, role, "negatives")
    file = arrays.add(ends[~drawn], name, role, "links")
    if not binary or (drawn_pairs is False and "edge_label" in store):
        file = {"ends": file, "labels": arrays.add(labels[~drawn], name, role, "links_labels")}
    links.setdefault("", {}).setdefault(role, {})[name] = file


def _array(value):
    """Converts a tensor or a sequence to an array of NumPy."""
    return value.detach().cpu().numpy() if hasattr(value, "detach") else numpy.asarray(value)


def _is_text(value):
    """Text, or lists of several lengths."""
    if hasattr(value, "detach"):
        return False
    try:
        return _array(value).dtype.kind in "USO"
    except ValueError:
        return True


def _is_sparse(value):
    """A tensor with another layout than rows of numbers; torch_sparse has a class of its own."""
    return hasattr(value, "csr") or str(getattr(value, "layout", "torch.strided")) != "torch.strided"


def _row_shape(value):
    """Shape of what one node or edge has."""
    if hasattr(value, "csr"):
        return (value.size(1),)
    return tuple(numpy.shape(value))[1:]


def _check_extents(name, key, value, most):
    if len(_row_shape(value)) > most:
        wanted = ", ".join("KLM"[:most])
        found = list(numpy.shape(value))
        raise ValueError(f"{name}.{key}: expected a tensor of shape [rows, {wanted}] or fewer extents, found {found}")


def _is_bfloat16(value):
    return str(getattr(value, "dtype", "")) == "torch.bfloat16"


def _floats(value):
    return _array(value.float() if _is_bfloat16(value) else value)


def _features(arrays, name, value):
    """Adds rows. Returns the file of dense ones, or the files of sparse ones."""
    if hasattr(value, "csr"):  # of torch_sparse
        indptr, columns, numbers = value.csr()
    elif _is_sparse(value):
        rows = value.to_sparse().coalesce()
        places, columns = rows.indices()
        indptr = numpy.zeros(len(value) + 1, numpy.int64)
        numpy.cumsum(numpy.bincount(_array(places), minlength=len(value)), out=indptr[1:])
        numbers = rows.values()
    else:
        return arrays.add(_floats(value), name, "features")
    parts = {"indptr": indptr, "indices": columns, "data": numbers}
    files = {part: arrays.add(_floats(of), name, "features", part) for part, of in parts.items() if of is not None}
    return {**files, "columns": int(value.size(1))}


def _labels(arrays, name, value):
    labels = _floats(value)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.dtype.kind in "biu" and labels.ndim == 1:
        return arrays.add(labels.astype(numpy.int64), name, "labels")
    if labels.dtype.kind == "b":
        labels = labels.astype(numpy.int64)
    targets = labels.ndim == 2 and bool(numpy.all((labels == 0) | (labels == 1) | (labels == -1) | (labels != labels)))
    if not targets and labels.dtype.kind != "f":
        labels = labels.astype(numpy.float64)
    file = arrays.add(labels, name, "labels")
    return file if targets else {"numbers": file}


def _add_masks(arrays, name, role, masks, splits):
    columns = [("", masks)] if masks.ndim == 1 else [(f"mask{k}", masks[:, k]) for k in range(masks.shape[1])]
    for split, mask in columns:
        file = arrays.add(numpy.flatnonzero(mask), name, role, *filter(None, [split]))
        splits.setdefault(split, {}).setdefault(role, {})[name] = file


def _column(arrays, name, key, value):
    _check_name(key, f"{name}.{key}")
    _check_extents(name, key, value, 3)
    if _is_bfloat16(value):
        import torch

        words = _array(value.view(torch.int16)).view(numpy.uint16)
        return {"file": arrays.add(words, name, key), "dtype": "bf16"}
    array = _array(value)
    array = array.astype(_WIDER.get(array.dtype.name, array.dtype), copy=False)
    if array.dtype.name not in _KEPT:
        raise ValueError(f"{name}.{key}: expected elements of {', '.join((*_KEPT, *_WIDER))}, found {array.dtype.name}")
    return arrays.add(array, name, key)
