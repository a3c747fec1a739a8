"""Mini-batches in NumPy, as docs/design.md (section 4) describes them.

Written from that text, not from the C++ code, to compare the two. Slow: a node at a time.
"""
from dataclasses import dataclass, field

import numpy as np

SEED_ORDER, NEIGHBORS, NEGATIVES, WALKS, INITIAL_WEIGHTS, LABOR = 1, 2, 3, 4, 6, 7  # domains
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


def integer_weights(weights):
    """Weights as whole numbers that add up to n * 2^32 (decision 0030); all 0 where there is none."""
    largest = max(weights, default=0.0)
    if largest == 0:
        return [0] * len(weights)
    total = len(weights) << 32
    shares = [int(weight / largest * 2.0**52) for weight in weights]
    factor = float(total) / float(sum(shares))
    units = [max(1, int(float(share) * factor)) if weight > 0 else 0
             for weight, share in zip(weights, shares)]
    units[weights.index(largest)] += total - sum(units)
    return units


def alias_table(units):
    """(threshold, alias) of each slot: light entries are filled up by heavy ones, both in order."""
    table = [(2**32 - 1, slot) for slot in range(len(units))]  # a slot of its own
    light = [slot for slot, own in enumerate(units) if own <= 2**32]
    heavy = [slot for slot, own in enumerate(units) if own > 2**32]
    rest = list(units)
    while heavy:
        if rest[heavy[0]] > 2**32:
            slot, giver = light.pop(0), heavy[0]
        else:  # has become light itself
            slot = heavy.pop(0)
            giver = heavy[0] if heavy else None
        if rest[slot] < 2**32:
            table[slot] = (rest[slot], giver)
            rest[giver] -= 2**32 - rest[slot]
    return table


def below64(stream, bound):
    """As `below`, from two words, the high one first."""
    rejected = (2**64 - bound) % bound
    while True:
        product = (next(stream) << 32 | next(stream)) * bound
        if product % 2**64 >= rejected:
            return product // 2**64


def draw_weighted(stream, weights, fanout, replace):
    """Positions in a neighbor list by weight, ascending. `fanout` -1 takes all."""
    if fanout < 0:
        return list(range(len(weights)))
    units = integer_weights(weights)
    if sum(units) == 0:
        return []
    if not replace and len(weights) <= fanout:
        return [at for at, own in enumerate(units) if own > 0]
    table = alias_table(units)

    def draw():
        slot, coin = below(stream, len(weights)), next(stream)
        threshold, alias = table[slot]
        return slot if coin < threshold or alias == slot else alias

    if replace:
        return sorted(draw() for _ in range(fanout))
    chosen = set()
    for _ in range(4 * fanout + 32):
        if len(chosen) < fanout:
            chosen.add(draw())
    while len(chosen) < fanout:  # by sums of what is left
        left = [0 if at in chosen else own for at, own in enumerate(units)]
        if sum(left) == 0:
            break
        drawn = below64(stream, sum(left))
        at = 0
        while drawn >= left[at]:
            drawn -= left[at]
            at += 1
        chosen.add(at)
    return sorted(chosen)


def draw_by_sums(stream, units, fanout, replace):
    """Positions in a stretch of a list by whole weights, ascending. `fanout` -1 takes all."""
    if fanout < 0:
        return list(range(len(units)))
    if not replace and len(units) <= fanout:
        return [at for at, own in enumerate(units) if own > 0]

    def draw(of):
        drawn, at = below64(stream, sum(of)), 0
        while drawn >= of[at]:
            drawn -= of[at]
            at += 1
        return at

    if sum(units) == 0:
        return []
    if replace:
        return sorted(draw(units) for _ in range(fanout))
    chosen = set()
    for _ in range(4 * fanout + 32):
        if len(chosen) < fanout:
            chosen.add(draw(units))
    left = [0 if at in chosen else own for at, own in enumerate(units)]
    while len(chosen) < fanout and sum(left) > 0:
        chosen.add(draw(left))
        left = [0 if at in chosen else own for at, own in enumerate(units)]
    return sorted(chosen)


def draw_labor(key, neighbors, tree, fanout):
    """Positions in a list of `neighbors` (original ids), ascending. `fanout` -1 takes all."""
    if fanout < 0 or len(neighbors) <= fanout:
        return list(range(len(neighbors)))
    limit = (fanout << 32) // len(neighbors)
    return [at for at, node in enumerate(neighbors) if next(words(key, node, tree)) < limit]


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
    weights: list = field(default_factory=list)  # by original id; none: not read
    times: list = field(default_factory=list)  # by original id; none: lists are not in their order

    def time(self, edge):
        return self.times[edge] if self.times else 0

    def neighbor_lists(self, outwards):
        """{node: [(neighbor, edge), ...]} in order of times, of neighbors' ids, of edges' ids."""
        lists = {}
        for edge, (source, destination) in enumerate(self.edges):
            node, neighbor = (source, destination) if outwards else (destination, source)
            lists.setdefault(node, []).append((neighbor, edge))
        return {node: sorted(found, key=lambda entry: (self.time(entry[1]), *entry))
                for node, found in lists.items()}


@dataclass
class Settings:
    fanouts: list  # [edge type][hop]
    job_seed: int
    replace: bool = False
    outwards: bool = False
    frontier_all: bool = False
    by_weight: bool = False
    disjoint: bool = False
    seed_times: list = field(default_factory=list)  # none: times are not read
    inclusive: bool = False
    window: int = 0  # 0: none
    last: bool = False
    labor: bool = False
    shared: bool = False
    induced: bool = False
    reversed_types: list = field(default_factory=list)  # of each type's reverse edges; -1: none

    def allows(self, time, tree):
        """Whether the tree may take an edge of that time."""
        until = self.seed_times[tree]
        early_enough = time <= until if self.inclusive else time < until
        return early_enough and (self.window == 0 or time >= until - self.window)


@dataclass
class Nodes:
    """Nodes of one type in order of first appearance, in disjoint batches once in each tree."""
    originals: list = field(default_factory=list)
    trees: list = field(default_factory=list)
    hop_end: list = field(default_factory=list)
    index: dict = field(default_factory=dict)

    def number(self, original, tree):
        if (original, tree) not in self.index:
            self.index[original, tree] = len(self.originals)
            self.originals.append(original)
            self.trees.append(tree)
        return self.index[original, tree]


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


@dataclass
class Links:
    """The links of a batch, and what is drawn to them (decision 0030)."""
    edge_type: int
    positives: list  # (source, destination)
    binary: bool = False
    per_positive: int = 1
    tries: int = 1
    strict: bool = False
    by_degree: bool = False
    reverse: int = -1  # type of the edges back that are left out; -1: nothing is
    negatives: list = field(default_factory=list)  # (source, destination), filled in
    edges_drawn: int = 0

    def draw(self, node_counts, edge_types, job_seed, epoch, batch):
        """Draws the negatives. Returns seeds (type, original): sources, destinations, drawn sources,
        drawn destinations."""
        of_links = edge_types[self.edge_type]
        there = set(of_links.edges)
        drawn_sources, drawn_destinations = [], []
        for place, (source, destination) in enumerate(self.positives):
            for number in range(self.per_positive):
                end_is_source = self.binary and number % 2 == 1
                end_type = of_links.source_type if end_is_source else of_links.destination_type
                key = stream_key(job_seed, NEGATIVES, end_type, 0, epoch, batch)
                pairs = []
                for candidate in range(number * self.tries, (number + 1) * self.tries):
                    if self.by_degree:
                        ends = sorted(pair[0 if end_is_source else 1] for pair in of_links.edges)
                        end = ends[below64(words(key, place, candidate), len(ends))]
                    else:
                        end = below(words(key, place, candidate), node_counts[end_type])
                    pairs.append((end, destination) if end_is_source else (source, end))
                no_edges = [pair for pair in pairs if pair not in there]
                self.edges_drawn += self.strict and not no_edges
                chosen = (no_edges if self.strict and no_edges else pairs)[0]
                self.negatives.append(chosen)
                (drawn_sources if end_is_source else drawn_destinations).append(
                    chosen[0 if end_is_source else 1])
        sources = [source for source, _ in self.positives] + drawn_sources
        destinations = [destination for _, destination in self.positives] + drawn_destinations
        count = len(self.positives)
        return ([(of_links.source_type, node) for node in sources[:count]]
                + [(of_links.destination_type, node) for node in destinations[:count]]
                + [(of_links.source_type, node) for node in sources[count:]]
                + [(of_links.destination_type, node) for node in destinations[count:]])

    def left_out(self, edge_type, node, neighbor, outwards):
        """Whether an edge of a list is that of a positive link, or its reverse."""
        if self.reverse < 0:
            return False
        pair = (node, neighbor) if outwards else (neighbor, node)
        return (edge_type == self.edge_type and pair in self.positives
                or edge_type == self.reverse and pair[::-1] in self.positives)


def sample(node_type_count, edge_types, settings, seeds, seed_type=0, epoch=0, batch=0,
           links=None):
    """`seeds`: original ids of `seed_type`; of `links` (type, original) as Links.draw() gives them."""
    nodes = [Nodes() for _ in range(node_type_count)]
    edges = [Edges() for _ in edge_types]
    lists = [type.neighbor_lists(settings.outwards) for type in edge_types]
    trees = range(len(seeds)) if settings.disjoint else [0] * len(seeds)
    typed = seeds if links else [(seed_type, seed) for seed in seeds]
    seed_index = [nodes[type].number(seed, tree) for (type, seed), tree in zip(typed, trees)]
    result = Batch(seed_index, nodes, edges)
    frontier_begin = [0] * node_type_count
    for hop in range(len(settings.fanouts[0])):
        frontier_end = [len(of_type.originals) for of_type in nodes]
        for of_type, end in zip(nodes, frontier_end):
            of_type.hop_end.append(end)
        for number, edge_type in enumerate(edge_types):
            asked, found = edge_type.destination_type, edge_type.source_type
            if settings.outwards:
                asked, found = found, asked
            key = stream_key(settings.job_seed, LABOR if settings.labor else NEIGHBORS, number,
                             0 if settings.shared else hop, epoch, batch)
            out = edges[number]
            for at in range(frontier_begin[asked], frontier_end[asked]):
                node, tree = nodes[asked].originals[at], nodes[asked].trees[at]
                listed = whole = lists[number].get(node, [])
                if settings.seed_times and edge_type.times:
                    listed = [entry for entry in listed
                              if settings.allows(edge_type.time(entry[1]), tree)]
                if links:
                    listed = [entry for entry in listed
                              if not links.left_out(number, node, entry[0], settings.outwards)]
                fanout = settings.fanouts[number][hop]
                stream = words(key, node, tree)
                if settings.labor:
                    neighbors = [neighbor for neighbor, _ in listed]
                    chosen = draw_labor(key, neighbors, tree, fanout)
                elif settings.last:
                    chosen = range(max(0, len(listed) - fanout), len(listed))
                elif settings.by_weight and settings.seed_times and edge_type.times:
                    most = max((edge_type.weights[edge] for _, edge in whole), default=0)
                    units = [max(1, int(weight / most * 2.0**31)) if weight > 0 else 0
                             for weight in (edge_type.weights[edge] for _, edge in listed)]
                    chosen = draw_by_sums(stream, units, fanout, settings.replace)
                elif settings.by_weight:
                    weights = [edge_type.weights[edge] for _, edge in listed]
                    chosen = draw_weighted(stream, weights, fanout, settings.replace)
                else:
                    chosen = draw_positions(stream, len(listed), fanout, settings.replace)
                for place in chosen:
                    out.sources.append(nodes[found].number(listed[place][0], tree))
                    out.edge_ids.append(listed[place][1])
                out.offsets.append(len(out.sources))
            out.row_begin.append(len(out.offsets) - 1)
        if not settings.frontier_all:
            frontier_begin = frontier_end
    for of_type in nodes:
        of_type.hop_end.append(len(of_type.originals))
    if settings.induced:
        close_induced(result, edge_types, lists, settings)
    elif settings.reversed_types:
        close_reversed(result, edge_types, settings)
    return result


def ends_asked(edge_type, settings):
    """Node types of the rows of an edge type, and of the neighbors in them."""
    ends = edge_type.destination_type, edge_type.source_type
    return ends[::-1] if settings.outwards else ends


def close_hops(batch):
    for of_type in batch.nodes:
        of_type.hop_end = [of_type.hop_end[0], of_type.hop_end[-1]]


def close_induced(batch, edge_types, lists, settings):
    """All edges of the graph among the nodes, for edge types that some hop samples."""
    for number, edge_type in enumerate(edge_types):
        asked, found = ends_asked(edge_type, settings)
        rows, index = batch.nodes[asked], batch.nodes[found].index
        closed = Edges(row_begin=[0, len(rows.originals)])
        for node, tree in zip(rows.originals, rows.trees):
            for neighbor, edge in lists[number].get(node, []):
                if any(settings.fanouts[number]) and (neighbor, tree) in index:
                    closed.sources.append(index[neighbor, tree])
                    closed.edge_ids.append(edge)
            closed.offsets.append(len(closed.sources))
        batch.edges[number] = closed
    close_hops(batch)


def drawn_edges(edges, frontier_all):
    """(node, neighbor, edge id), row by row."""
    for first, end in zip(edges.row_begin, edges.row_begin[1:]):
        for row in range(first, end):
            for at in range(edges.offsets[row], edges.offsets[row + 1]):
                yield (row - first if frontier_all else row), edges.sources[at], edges.edge_ids[at]


def close_reversed(batch, edge_types, settings):
    """Drawn edges, then reverses of drawn edges where there is none between their ends."""
    closed = []
    for number, edge_type in enumerate(edge_types):
        asked, _ = ends_asked(edge_type, settings)
        rows = [[] for _ in batch.nodes[asked].originals]
        pairs = set()
        for node, neighbor, edge in drawn_edges(batch.edges[number], settings.frontier_all):
            rows[node].append((neighbor, edge))
            pairs.add((node, neighbor))
        for other, reverse in enumerate(settings.reversed_types):
            if reverse != number:
                continue
            for node, neighbor, edge in drawn_edges(batch.edges[other], settings.frontier_all):
                if (neighbor, node) not in pairs:
                    rows[neighbor].append((node, edge + len(edge_type.edges)))
                    pairs.add((neighbor, node))
        joined = Edges(row_begin=[0, len(rows)])
        for row in rows:
            joined.sources += [neighbor for neighbor, _ in row]
            joined.edge_ids += [edge for _, edge in row]
            joined.offsets.append(len(joined.sources))
        closed.append(joined)
    batch.edges[:] = closed
    close_hops(batch)


@dataclass
class Walks:
    """Random walks of one batch (decision 0030)."""
    steps: int
    per_seed: int
    restart_below: int
    along: list  # edge types of the steps, repeated
    thresholds: list = field(default_factory=list)  # back, near, far; none: first order
    restarts: list = field(default_factory=list)  # filled in, as places in the rows of all walks
    undecided: int = 0

    def walk(self, edge_types, job_seed, outwards, seeds, epoch, batch):
        """The nodes of each walk, original ids; None where there is none."""
        lists = [edge_type.neighbor_lists(outwards) for edge_type in edge_types]

        def key(type, hop):
            return stream_key(job_seed, WALKS, type, hop, epoch, batch)

        def coin(kind, walker, place):
            return next(words(key(kind, 255), walker, place))

        def neighbors(type, node):
            return [neighbor for neighbor, _ in lists[type].get(node, [])]

        def step_from(walker, step, at, before):
            type = self.along[step % len(self.along)]
            found = neighbors(type, at)
            if not found:
                return None

            def drawn(tree):
                return found[below(words(key(type, step), at, tree), len(found))]

            if not self.thresholds:
                return drawn(walker)
            if before is None:
                return drawn(walker * 256)
            near = neighbors(type, before)
            for number in range(252):
                node = drawn(walker * 256 + number)
                limit = self.thresholds[0 if node == before else 1 if node in near else 2]
                if coin(1, walker, step * 256 + number) < limit:
                    return node
            self.undecided += 1
            return node

        rows = []
        for walker in range(len(seeds) * self.per_seed):
            seed = seeds[walker // self.per_seed]
            row, at, before = [seed], seed, None
            for step in range(self.steps):
                if step and step % len(self.along) == 0 and self.restart_below and (
                        at is None or coin(0, walker, step) < self.restart_below):
                    at, before = seed, None
                    self.restarts.append(walker * (self.steps + 1) + step + 1)
                if at is not None:
                    at, before = step_from(walker, step, at, before), at
                row.append(at)
            rows.append(row)
        return rows

    def node_types(self, edge_types, outwards):
        """Of each column."""
        ends = [(edge_types[type].source_type, edge_types[type].destination_type)
                for type in self.along]
        ends = ends if outwards else [pair[::-1] for pair in ends]
        return [ends[0][0]] + [ends[step % len(ends)][1] for step in range(self.steps)]
