"""Mini-batches in NumPy, as docs/design.md (section 4) describes them.

Written from that text, not from the C++ code, to compare the two. Slow: a node at a time.
"""
from dataclasses import dataclass, field

import numpy as np

SEED_ORDER, NEIGHBORS, INITIAL_WEIGHTS = 1, 2, 6  # domains
EVALUATION = 1 << 31  # in the epoch word (decision 0003)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox(counter, key):
    """Philox4x32-10 of Salmon, Moraes, Dror, Shaw (SC 2011).

    `counter` [..., 4] and `key` [..., 2] are broadcast; returns words [..., 4], uint64.
    """
    counter = np.asarray(counter, np.uint64)
    key = np.asarray(key, np.uint64)
    c0, c1, c2, c3 = np.moveaxis(counter, -1, 0)
    k0, k1 = np.moveaxis(key, -1, 0)
    for _ in range(10):
        left, right = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1 = (right >> HALF) ^ c1 ^ k0, right & LOW
        c2, c3 = (left >> HALF) ^ c3 ^ k1, left & LOW
        k0 = (k0 + np.uint64(0x9E3779B9)) & LOW
        k1 = (k1 + np.uint64(0xBB67AE85)) & LOW
    return np.stack([c0, c1, c2, c3], axis=-1)


def two_words(number):
    return [number & 0xFFFFFFFF, number >> 32]


def stream_key(job_seed, domain, type=0, hop=0, epoch=0, batch=0):
    head = domain << 24 | type << 8 | hop
    return philox([head, epoch, *two_words(batch)], two_words(job_seed))[:2]


def words(key, original_id, tree=0):
    """The words of one id, without end: word i is word i mod 4 of block i div 4."""
    block = 0
    while True:
        for word in philox([*two_words(original_id), block, tree], key):
            yield int(word)
        block += 1


def below(stream, bound):
    """A number in [0, bound): Lemire's multiply-shift, a rejected word takes the next."""
    rejected = (2**32 - bound) % bound
    while True:
        product = next(stream) * bound
        if product % 2**32 >= rejected:
            return product // 2**32


def draw_positions(stream, degree, fanout, replace):
    """Positions in a neighbor list, ascending. `fanout` -1 takes all."""
    if fanout < 0 or (not replace and degree <= fanout):
        return list(range(degree))
    if replace:
        return sorted(below(stream, degree) for _ in range(fanout)) if degree else []
    chosen = set()
    for last in range(degree - fanout, degree):  # Floyd
        drawn = below(stream, last + 1)
        chosen.add(last if drawn in chosen else drawn)
    return sorted(chosen)


def permute(position, count, key):
    """Feistel network of 8 rounds on an even number of bits that holds `count`, cycle walking."""
    half_bits = 1
    while 4**half_bits < count:
        half_bits += 1
    mask = 2**half_bits - 1
    while True:
        left, right = position >> half_bits, position & mask
        for round_number in range(8):
            scrambled = int(philox([right, round_number, 0, 0], key)[0])
            left, right = right, left ^ (scrambled & mask)
        position = left << half_bits | right
        if position < count:
            return position


def seed_positions(job_seed, count, batch_size, batch, epoch=0, node_type=0):
    """Positions in the sorted seed list of one batch, `seed_order: global`."""
    key = stream_key(job_seed, SEED_ORDER, type=node_type, epoch=epoch)
    places = range(batch * batch_size, min(count, (batch + 1) * batch_size))
    return [permute(place, count, key) for place in places]


def local_seed_positions(job_seed, shares, batch_size, batch, epoch=0, node_type=0):
    """The same with `seed_order: local`: batch b is batch b div W of the share of rank b mod W."""
    rank = batch % len(shares)
    share = shares[rank]
    key = stream_key(job_seed, SEED_ORDER, type=node_type, hop=1, epoch=epoch, batch=rank)
    first = batch // len(shares) * batch_size
    places = range(first, min(len(share), first + batch_size))
    return [share[permute(place, len(share), key)] for place in places]


def uniform_weights(job_seed, number, shape, bound):
    """Initial values of parameter `number`, uniform in ±bound, float32."""
    key = stream_key(job_seed, INITIAL_WEIGHTS, type=number)
    ids = np.arange(np.prod(shape), dtype=np.uint64)
    counter = np.stack([ids & LOW, ids >> HALF, 0 * ids, 0 * ids], axis=-1)
    word = philox(counter, key)[:, 0]
    unit = (word >> np.uint64(8)).astype(np.float32) / np.float32(2**24)
    return (np.float32(bound) * (2 * unit - 1)).astype(np.float32).reshape(shape)


@dataclass
class EdgeType:
    """One edge type. `edges[i]` = (source, destination) of the edge with original id i."""
    source_type: int
    destination_type: int
    edges: list

    def neighbor_lists(self, outwards):
        """{node: [(neighbor, edge), ...]} in order of the neighbors' ids, then of the edges'."""
        lists = {}
        for edge, (source, destination) in enumerate(self.edges):
            node, neighbor = (source, destination) if outwards else (destination, source)
            lists.setdefault(node, []).append((neighbor, edge))
        return {node: sorted(found) for node, found in lists.items()}


@dataclass
class Settings:
    fanouts: list  # [edge type][hop]
    job_seed: int
    replace: bool = False
    outwards: bool = False
    frontier_all: bool = False


@dataclass
class Nodes:
    """Nodes of one type in order of first appearance."""
    originals: list = field(default_factory=list)
    hop_end: list = field(default_factory=list)
    index: dict = field(default_factory=dict)

    def number(self, original):
        if original not in self.index:
            self.index[original] = len(self.originals)
            self.originals.append(original)
        return self.index[original]


@dataclass
class Edges:
    """Sampled edges of one edge type, CSR over batch-local indices, hop after hop."""
    row_begin: list = field(default_factory=lambda: [0])
    offsets: list = field(default_factory=lambda: [0])
    sources: list = field(default_factory=list)
    edge_ids: list = field(default_factory=list)


@dataclass
class Batch:
    seed_index: list
    nodes: list  # by node type
    edges: list  # by edge type


def sample(node_type_count, edge_types, settings, seeds, seed_type=0, epoch=0, batch=0):
    nodes = [Nodes() for _ in range(node_type_count)]
    edges = [Edges() for _ in edge_types]
    lists = [type.neighbor_lists(settings.outwards) for type in edge_types]
    result = Batch([nodes[seed_type].number(seed) for seed in seeds], nodes, edges)
    frontier_begin = [0] * node_type_count
    for hop in range(len(settings.fanouts[0])):
        frontier_end = [len(of_type.originals) for of_type in nodes]
        for of_type, end in zip(nodes, frontier_end):
            of_type.hop_end.append(end)
        for number, edge_type in enumerate(edge_types):
            asked, found = edge_type.destination_type, edge_type.source_type
            if settings.outwards:
                asked, found = found, asked
            key = stream_key(settings.job_seed, NEIGHBORS, number, hop, epoch, batch)
            out = edges[number]
            for node in nodes[asked].originals[frontier_begin[asked]:frontier_end[asked]]:
                listed = lists[number].get(node, [])
                fanout = settings.fanouts[number][hop]
                for at in draw_positions(words(key, node), len(listed), fanout, settings.replace):
                    out.sources.append(nodes[found].number(listed[at][0]))
                    out.edge_ids.append(listed[at][1])
                out.offsets.append(len(out.sources))
            out.row_begin.append(len(out.offsets) - 1)
        if not settings.frontier_all:
            frontier_begin = frontier_end
    for of_type in nodes:
        of_type.hop_end.append(len(of_type.originals))
    return result
