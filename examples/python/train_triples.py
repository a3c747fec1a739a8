"""A knowledge graph with a score of our own, in NumPy: SimplE (Kazemi and Poole, 2018), the mean of two products.

troupe import --from triples --relations one examples/knowledge/family examples/knowledge/store
troupe run examples/python/triples.json -- python3 examples/python/train_triples.py
"""

import os

import numpy as np

import troupe


def queries(known, relations, replaced):
    """What is multiplied with the rows of candidates. Halves: entities as head and as tail, relations forth and back."""
    (head, tail), (forth, back) = np.split(known, 2, -1), np.split(relations, 2, -1)
    halves = (tail * back, head * forth) if replaced == "tail" else (tail * forth, head * back)
    return np.concatenate(halves, -1) / 2


def slopes_of_queries(slope, known, relations, replaced):
    """The gradient of queries: of the known ends, and of the relations."""
    (head, tail), (forth, back), (first, second) = (np.split(x, 2, -1) for x in (known, relations, slope / 2))
    if replaced == "tail":
        return np.concatenate([second * forth, first * back], -1), np.concatenate([second * head, first * tail], -1)
    return np.concatenate([second * back, first * forth], -1), np.concatenate([first * tail, second * head], -1)


def loss_of(links, rows, relations, facts):
    """Each triple among the candidates of its chunk: the sum of cross entropies, and its gradients."""
    ends = (links.sources, links.destinations)
    known, answers = ends if links.replaced == "tail" else reversed(ends)
    numbers = links.labels.astype(int)
    total, of_rows, of_relations = 0.0, np.zeros_like(rows), np.zeros_like(relations)
    for i, candidates in enumerate(links.candidates.reshape(-1, facts.candidates)):
        chunk = slice(i * facts.chunk, (i + 1) * facts.chunk)
        mine = rows[known[chunk]], relations[numbers[chunk]]
        query = queries(*mine, links.replaced)
        scores = np.c_[(query * rows[answers[chunk]]).sum(1), query @ rows[candidates].T]
        shares = np.exp(scores - scores.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        total -= np.log(shares[:, 0]).sum()
        shares[:, 0] -= 1  # the gradient of the scores
        own, others = shares[:, :1], shares[:, 1:]
        np.add.at(of_rows, answers[chunk], own * query)
        np.add.at(of_rows, candidates, others.T @ query)
        of_known, of_relation = slopes_of_queries(
            own * rows[answers[chunk]] + others @ rows[candidates], *mine, links.replaced)
        np.add.at(of_rows, known[chunk], of_known)
        np.add.at(of_relations, numbers[chunk], of_relation)
    return total, of_rows, of_relations


def reciprocal_rank(session, table, relations, role):
    """Mean of 1 / rank of tails and heads among all entities; each rank takes its share of the triples."""
    links = session.links(role)
    heads, tails = links.nodes
    everything = table.rows(session.find_nodes(np.arange(session.graph.node_types[0].count)))
    sums = np.zeros(2, np.float32)
    for replaced, known, answers in (("tail", heads, tails), ("head", tails, heads)):
        query = queries(table.rows(known), relations[links.labels.astype(int)], replaced)
        own = (query * table.rows(answers)).sum(1, keepdims=True)
        ranks = 1 + (query @ everything.T > own + 1e-6).sum(1)
        sums += [(1 / ranks).sum(), len(ranks)]
    session.all_reduce(sums)
    return sums[0] / sums[1]


def train(session, rate=np.float32(0.1)):
    table = session.embedding("entity")
    shape = session.triples.relations, table.dim
    relations = np.random.default_rng(session.seed).normal(0, 0.1, shape).astype(np.float32)
    squares = np.full(shape, 1e-10, np.float32)  # of Adagrad
    session.keep(relations=relations, squares=squares)
    for e in range(session.first_epoch, session.epochs):
        for batch in session.epoch(e):
            slope = np.zeros(shape, np.float32)
            if batch.seeds:
                _, of_rows, slope = loss_of(batch.links, table.rows(batch.nodes), relations, session.triples)
                table.gradient(batch.nodes, of_rows, of_sum=True)
            session.all_reduce_gradients(slope, of_sum=True)
            squares += slope * slope
            relations -= rate * slope / np.sqrt(squares)
            session.end_step()
        if e % 10 == 9:
            rank = reciprocal_rank(session, table, relations, "val")
            if session.rank == 0:
                print(f"epoch {e + 1}: valid mrr {rank:.4f}, among all entities, unfiltered")
    rank = reciprocal_rank(session, table, relations, "test")
    if session.rank == 0:
        print(f"test mrr {rank:.4f}")


if __name__ == "__main__":
    troupe.run(train, os.path.join(os.path.dirname(os.path.abspath(__file__)), "triples.json"))
