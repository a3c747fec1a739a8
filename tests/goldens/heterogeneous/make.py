"""Makes the files beside it: layers of GraphSAGE on a small heterogeneous graph, in plain PyTorch 2.1.2.

Everything is computed in float64 from float32 inputs. Run it in this folder: python make.py
"""
import numpy as np
import torch

NODES = {"author": 5, "paper": 6, "venue": 2}  # columns of the features
EDGES = [("writes", "author", "paper"), ("written_by", "paper", "author"),
         ("cites", "paper", "paper"), ("holds", "venue", "paper")]
# Rows of each type before layer 1, between the layers, and after layer 2.
ROWS = [{"author": 11, "paper": 17, "venue": 4}, {"author": 8, "paper": 9, "venue": 3},
        {"author": 5, "paper": 4, "venue": 1}]
HIDDEN, OUT = 4, 3

rng = np.random.default_rng(20261122)


def random(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def save(name, array):
    np.save(name + ".npy", np.ascontiguousarray(array))


def make_block(layer, edge, source, destination):
    """CSR with empty rows, parallel edges, and sources of all rows."""
    degrees = rng.integers(0, 5, ROWS[layer + 1][destination])
    degrees[0] = 0
    sources = rng.integers(0, ROWS[layer][source], degrees.sum())
    offsets = np.concatenate([[0], np.cumsum(degrees)])
    save(f"{edge}{layer + 1}_indptr", offsets.astype(np.int64))
    save(f"{edge}{layer + 1}_indices", sources.astype(np.int64))
    return offsets, sources


def aggregate(how, offsets, sources, x):
    rows = []
    for first, end in zip(offsets[:-1], offsets[1:]):
        of_row = x[torch.as_tensor(sources[first:end])]
        if first == end:
            rows.append(torch.zeros(x.shape[1], dtype=x.dtype))
        elif how == "max":
            rows.append(of_row.max(0).values)
        else:
            rows.append(of_row.mean(0) if how == "mean" else of_row.sum(0))
    return torch.stack(rows)


class Parameters:
    """Parameters in the order in which they are first asked for."""

    def __init__(self):
        self.all = {}

    def get(self, name, *shape, start=None):
        if name not in self.all:
            value = random(*shape) / 2 if start is None else start + random(*shape) / 4
            self.all[name] = torch.tensor(value.astype(np.float32), dtype=torch.float64,
                                          requires_grad=True)
        return self.all[name]

    def flat(self):
        return np.concatenate([p.detach().numpy().ravel() for p in self.all.values()])

    def gradient(self):
        return np.concatenate([p.grad.numpy().ravel() for p in self.all.values()])


def convolve(how, parameters, layer, edges, blocks, rows, width):
    """Sums over the edge types that end at each node type."""
    out = {}
    for edge, source, destination in edges:
        name = f"conv{layer}.{edge}."
        left = parameters.get(name + "lin_l.weight", width, rows[source].shape[1])
        bias = parameters.get(name + "lin_l.bias", width)
        right = parameters.get(name + "lin_r.weight", width, rows[destination].shape[1])
        offsets, sources = blocks[edge]
        own = rows[destination][:len(offsets) - 1]
        new = aggregate(how, offsets, sources, rows[source]) @ left.T + bias + own @ right.T
        out[destination] = out.get(destination, 0) + new
    return out


def l2(x):
    return x / x.norm(dim=1, keepdim=True).clamp(min=1e-12)


def save_case(name, parameters, out, grad_out):
    (out * torch.tensor(grad_out, dtype=torch.float64)).sum().backward()
    save(name + "_parameters", parameters.flat().astype(np.float32))
    save(name + "_out", out.detach().numpy())
    save(name + "_gradient", parameters.gradient())


features = {name: random(ROWS[0][name], cols) for name, cols in NODES.items()}
for name, x in features.items():
    save("x_" + name, x)
x = {name: torch.tensor(value, dtype=torch.float64) for name, value in features.items()}
blocks = [{edge: make_block(layer, edge, source, destination)
           for edge, source, destination in EDGES} for layer in range(2)]
grad_paper, grad_author = random(ROWS[1]["paper"], OUT), random(ROWS[2]["author"], OUT)
save("grad_out_paper", grad_paper)
save("grad_out_author", grad_author)

# One layer, rows of papers.
to_papers = [edge for edge in EDGES if edge[2] == "paper"]
for how in ("mean", "max", "sum"):
    for norm in ("", "_l2"):
        parameters = Parameters()
        out = convolve(how, parameters, 1, to_papers, blocks[0], x, OUT)["paper"]
        save_case(f"one_{how}{norm}", parameters, l2(out) if norm else out, grad_paper)

# Two layers, rows of authors: venues need no rows after the first one.
first = [edge for edge in EDGES if edge[2] in ("author", "paper")]
parameters = Parameters()
hidden = convolve("mean", parameters, 1, first, blocks[0], x, HIDDEN)
for name in ("author", "paper"):
    gain = parameters.get(f"norm1.{name}.weight", HIDDEN, start=1)
    bias = parameters.get(f"norm1.{name}.bias", HIDDEN, start=0)
    hidden[name] = torch.relu(
        torch.nn.functional.layer_norm(l2(hidden[name]), (HIDDEN,), gain, bias))
out = convolve("mean", parameters, 2, [EDGES[1]], blocks[1], hidden, OUT)["author"]
save_case("two", parameters, l2(out), grad_author)
