"""Makes the files beside it: layers of attention, and others that read features of edges, on the heterogeneous
graph of ../heterogeneous, by PyTorch Geometric 2.6.1 with PyTorch 2.1.2.

Everything is computed in float64 from float32 inputs. Run it in this folder: python make.py
"""
import numpy as np
import torch
from torch_geometric.nn import GATConv, GATv2Conv, GINEConv, HeteroConv, HGTConv, SAGEConv

HERE = "../heterogeneous/"
EDGES = [("writes", "author", "paper"), ("cites", "paper", "paper"), ("holds", "venue", "paper")]

rng = np.random.default_rng(20261126)


def random(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def load(name):
    return np.load(HERE + name + ".npy")


def save(name, array):
    np.save(name + ".npy", np.ascontiguousarray(array))


def edge_index(edge):
    """Sources and destinations of the edges of the first layer, destination by destination."""
    offsets, sources = load(edge + "1_indptr"), load(edge + "1_indices")
    destinations = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return torch.as_tensor(np.stack([sources, destinations]))


def features():
    return {name: torch.tensor(load("x_" + name), dtype=torch.float64, requires_grad=True)
            for name in ("author", "paper", "venue")}


def set_parameters(parameters):
    for parameter in parameters:
        parameter.data = torch.tensor(random(*parameter.shape) / 2, dtype=torch.float64)


def flat(tensors):
    return np.concatenate([t.detach().numpy().ravel() for t in tensors])


PAPERS = len(load("writes1_indptr")) - 1


def save_run(name, out, in_order, inputs):
    """Parameters, result, and the gradients of a random weighting of it.

    in_order  the parameters, or what `of` makes of them, in the order of the files
    inputs    rows whose gradients are kept, by node type
    """
    grad_out = random(PAPERS, out.shape[1])
    (out * torch.tensor(grad_out, dtype=torch.float64)).sum().backward()
    save(name + "_parameters", flat(in_order(lambda p: p)).astype(np.float32))
    save(name + "_grad_out", grad_out)
    save(name + "_out", out.detach().numpy())
    save(name + "_gradient", flat(in_order(lambda p: p.grad)))
    for kind, rows in inputs.items():
        save(f"{name}_grad_x_{kind}", rows.grad.numpy())


def attention_per_relation(name, heads, cols, concat):
    convs = {edge: GATConv((-1, -1), cols, heads=heads, concat=concat, add_self_loops=False)
             for edge in EDGES}
    conv = HeteroConv({(s, e, d): convs[e, s, d] for e, s, d in EDGES}, aggr="sum")
    x = features()
    ends = {(s, e, d): (x[s], x[d][:PAPERS]) for e, s, d in EDGES}
    indices = {(s, e, d): edge_index(e) for e, s, d in EDGES}
    with torch.no_grad():  # gives the lazy weights their shapes
        for e, s, d in EDGES:
            convs[e, s, d](tuple(t.float() for t in ends[s, e, d]), indices[s, e, d])
    parameters = []
    for edge in EDGES:
        c = convs[edge]
        parameters += [c.lin_src.weight, c.lin_dst.weight, c.att_src, c.att_dst, c.bias]
    set_parameters(parameters)
    # HeteroConv hands whole rows of a type to both ends: the same, but destinations are the first rows.
    out = sum(convs[e, s, d](ends[s, e, d], indices[s, e, d]) for e, s, d in EDGES)
    square = conv({k: v for k, v in x.items()}, indices)["paper"][:PAPERS]
    assert torch.allclose(out, square, atol=1e-12)
    save_run(name, out, lambda of: [of(p) for p in parameters], x)


def by_head(relations, edge, heads):
    """Matrices [in, out] of the heads of an edge type, as [heads * out, in]."""
    matrices = relations.view(heads, len(EDGES), *relations.shape[1:])[:, edge]
    return matrices.transpose(1, 2).reshape(-1, matrices.shape[1])


def transformer(name, heads, width):
    x = features()
    edge_types = [(s, e, d) for e, s, d in EDGES]
    conv = HGTConv({kind: rows.shape[1] for kind, rows in x.items()}, width,
                   (list(x), edge_types), heads=heads)
    set_parameters(conv.parameters())
    out = conv(x, {(s, e, d): edge_index(e) for e, s, d in EDGES})["paper"][:PAPERS]

    def in_order(of):
        """Keys and values of each type; relations; queries, result and skip of papers."""
        parts = []
        for kind in x:
            lin = conv.kqv_lin.lins[kind]
            for third in (0, 2):
                rows = slice(third * width, (third + 1) * width)
                parts += [of(lin.weight)[rows], of(lin.bias)[rows]]
        for i, (e, s, d) in enumerate(EDGES):
            parts += [by_head(of(conv.k_rel.weight), i, heads),
                      by_head(of(conv.v_rel.weight), i, heads), of(conv.p_rel[f"{s}__{e}__{d}"])]
        lin, result = conv.kqv_lin.lins["paper"], conv.out_lin.lins["paper"]
        parts += [of(lin.weight)[width:2 * width], of(lin.bias)[width:2 * width],
                  of(result.weight), of(result.bias)]
        return parts + ([of(conv.skip["paper"])] if width == x["paper"].shape[1] else [])

    save_run(name, out, in_order, x)


attention_per_relation("rgat_concat", heads=2, cols=3, concat=True)
attention_per_relation("rgat_mean", heads=2, cols=3, concat=False)
transformer("hgt_skip", heads=2, width=6)  # as many columns as papers have
transformer("hgt_plain", heads=2, width=4)


def layer_with_features(name, make, edges, order, inputs=("paper",)):
    """A layer that reads features of the edges of some types, summed over the types.

    inputs  node types whose gradients are kept
    """
    x = features()
    out, parameters = 0, []
    for edge, source, destination in edges:
        of_edges = FEATURES.get(edge)
        conv = make(x[source].shape[1], x[destination].shape[1],
                    None if of_edges is None else of_edges.shape[1])
        of_conv = order(conv, of_edges is not None)
        set_parameters(of_conv)
        parameters += of_conv
        out = out + conv((x[source], x[destination][:PAPERS]), edge_index(edge), edge_attr=of_edges)
    save_run(name, out, lambda of: [of(p) for p in parameters], {kind: x[kind] for kind in inputs})


FEATURES = {}
for edge, cols in (("writes", 3), ("cites", 4)):
    rows = random(len(load(edge + "1_indices")), cols)
    save("features_" + edge, rows)
    FEATURES[edge] = torch.tensor(rows, dtype=torch.float64)

layer_with_features(
    "gatv2_edge",
    lambda source, destination, edge: GATv2Conv((source, destination), 3, heads=2, edge_dim=edge,
                                                add_self_loops=False),
    [EDGES[1]],
    lambda c, _: [c.lin_l.weight, c.lin_l.bias, c.lin_r.weight, c.lin_r.bias, c.att, c.bias,
                  c.lin_edge.weight])
layer_with_features(
    "rgat_edge",
    lambda source, destination, edge: GATConv((source, destination), 3, heads=2, edge_dim=edge,
                                              add_self_loops=False), EDGES,
    lambda c, with_edges: [c.lin_src.weight, c.lin_dst.weight, c.att_src, c.att_dst, c.bias] +
    ([c.lin_edge.weight, c.att_edge] if with_edges else []))
layer_with_features(
    "gatv2_types",
    lambda source, destination, edge: GATv2Conv((source, destination), 3, heads=2, edge_dim=edge,
                                                add_self_loops=False), EDGES,
    lambda c, with_edges: [c.lin_l.weight, c.lin_l.bias, c.lin_r.weight, c.lin_r.bias, c.att, c.bias] +
    ([c.lin_edge.weight] if with_edges else []),
    inputs=("author", "paper", "venue"))


def perceptron(cols, out):
    return torch.nn.Sequential(torch.nn.Linear(cols, 7), torch.nn.ReLU(), torch.nn.Linear(7, out))


layer_with_features(
    "gin_edge",
    lambda source, destination, edge: GINEConv(perceptron(source, 5), train_eps=True, edge_dim=edge),
    [EDGES[1]],
    lambda c, _: [c.nn[0].weight, c.nn[0].bias, c.nn[2].weight, c.nn[2].bias, c.eps, c.lin.weight,
                  c.lin.bias])


def sage_with_features(name, aggregator):
    """SAGEConv along each edge type, whose sources are the edges: the rows of their sources, features behind them."""
    x = features()
    out, convs = 0, []
    for edge, source, destination in EDGES:
        sources, destinations = edge_index(edge)
        rows = x[source][sources]
        if edge in FEATURES:
            rows = torch.cat([rows, FEATURES[edge]], dim=1)
        conv = SAGEConv((rows.shape[1], x[destination].shape[1]), 5, aggr=aggregator)
        set_parameters([conv.lin_l.weight, conv.lin_l.bias, conv.lin_r.weight])
        convs.append((conv, x[source].shape[1]))
        numbers = torch.arange(len(sources))
        out = out + conv((rows, x[destination][:PAPERS]), torch.stack([numbers, destinations]))

    def in_order(of):
        """The matrix of the features of edges is one of its own, the last."""
        parts = []
        for conv, cols in convs:
            left = of(conv.lin_l.weight)
            parts += [left[:, :cols], of(conv.lin_l.bias), of(conv.lin_r.weight), left[:, cols:]]
        return parts

    save_run(name, out, in_order, x)


for aggregator in ("mean", "sum", "max"):
    sage_with_features("sage_edge_" + aggregator, aggregator)
