"""Batches as blocks of DGL. Skipped where DGL is not installed."""

import os
import unittest

import numpy as np
import support
from support import CORA, PROGRAM, run_words

import troupe

try:
    import dgl
    import torch
    from dgl.nn import SAGEConv
except ImportError as error:
    dgl = None
    WHY = f"{error} (a Python with PyTorch and DGL: -DTROUPE_TORCH_PYTHON=…)"


class LeftOut(unittest.TestCase):
    def test_dgl(self):
        if dgl is None:
            self.skipTest(WHY)


def layers_of(blocks, x, layers):
    for number, (block, layer) in enumerate(zip(blocks, layers)):
        x = layer(block, x.relu() if number else x)
    return x


class Dgl(support.Scratch):
    def test_blocks_have_what_dgl_gives(self):
        def take(_, batch):
            inputs, outputs, blocks = batch.to_dgl()
            ids = torch.from_numpy(np.array(batch.original_ids))
            self.assertEqual(len(blocks), 2)
            self.assertTrue(torch.equal(inputs, ids))
            self.assertTrue(torch.equal(outputs, ids[: batch.seeds]))
            for block in blocks:
                self.assertTrue(block.is_block)
                self.assertTrue(torch.equal(block.srcdata[dgl.NID][: block.num_dst_nodes()], block.dstdata[dgl.NID]))
            self.assertTrue(torch.equal(blocks[0].dstdata[dgl.NID], blocks[1].srcdata[dgl.NID]))
            self.assertTrue(torch.equal(blocks[0].srcdata["feat"], torch.from_numpy(np.array(batch.features))))
            self.assertTrue(torch.equal(blocks[1].dstdata["label"], torch.from_numpy(np.array(batch.labels))))
            self.assertNotIn("feat", blocks[1].srcdata)
            # Pairs of original ids: a neighbor, and the node that it was drawn for.
            sources, destinations = batch.edges_of(0).index
            drawn = set(zip(ids[sources].tolist(), ids[destinations].tolist()))
            for block in blocks:
                sources, destinations = block.edges()
                pairs = zip(block.srcdata[dgl.NID][sources].tolist(), block.dstdata[dgl.NID][destinations].tolist())
                self.assertLessEqual(set(pairs), drawn)
            self.assertEqual(blocks[0].num_edges(), len(batch.edges_of(0)))
            return inputs, inputs.clone()

        for inputs, before in self.collect(CORA, take):
            self.assertTrue(torch.equal(inputs, before))

    def test_layers_give_the_seeds_what_all_edges_give(self):
        torch.manual_seed(1)
        layers = [SAGEConv(1433, 16, "mean"), SAGEConv(16, 7, "mean")]

        def take(_, batch):
            with torch.no_grad():
                found = layers_of(batch.to_dgl()[2], torch.from_dlpack(batch.features), layers)
                sources, destinations = torch.from_numpy(np.array(batch.edges_of(0).index))
                graph = dgl.graph((sources, destinations), num_nodes=len(batch.nodes))
                whole = layers_of([graph, graph], torch.from_dlpack(batch.features), layers)
            torch.testing.assert_close(found, whole[: batch.seeds])

        self.collect(CORA, take)

    def test_hops_that_are_drawn_afresh_have_blocks_of_their_own(self):
        def take(_, batch):
            inputs, outputs, blocks = batch.to_dgl()
            per_hop = batch.edges_of(0).per_hop
            self.assertEqual([block.num_edges() for block in blocks], per_hop[::-1])
            self.assertEqual(len(inputs), len(batch.nodes))
            self.assertEqual(len(outputs), batch.seeds)
            (first,) = batch.to_dgl(layers=1)[2]
            self.assertEqual(first.num_edges(), per_hop[0])
            self.assertEqual(first.num_src_nodes(), batch.hop_end[1])
            for layers in (0, 3):
                with self.assertRaisesRegex(ValueError, f"expected 1 to 2 layers, .* found {layers}"):
                    batch.to_dgl(layers)
            return True

        self.collect(CORA, take, sample__frontier="all")

    def test_several_types_with_data_of_edges(self):
        job, arrays = support.write_toy(self.path("toy"))

        def take(session, batch):
            inputs, outputs, blocks = batch.to_dgl()
            self.assertEqual(set(inputs), {"user", "item"})
            self.assertEqual([len(outputs["user"]), len(outputs["item"])], [batch.seeds, 0])
            first, last = blocks[0], blocks[-1]
            self.assertEqual(set(first.canonical_etypes), {("user", "buys", "item"), ("item", "rev_buys", "user")})
            for name in ("user", "item"):
                self.assertTrue(torch.equal(first.srcnodes[name].data[dgl.NID], inputs[name]))
                features = torch.from_numpy(arrays[f"x_{name}"])
                self.assertTrue(torch.equal(first.srcnodes[name].data["feat"], features[inputs[name]]))
            labels = torch.from_numpy(arrays["y_user"])
            self.assertTrue(torch.equal(last.dstnodes["user"].data["label"], labels[outputs["user"]]))
            edges = torch.from_numpy(arrays["edges"])
            for block in blocks:
                back = block["rev_buys"]
                items, users = back.edges()
                data = block.edges["rev_buys"].data
                ids = data[dgl.EID] % 400  # those of the reverses come after those of the edges
                of_edges = edges[:, ids]
                self.assertTrue(torch.equal(back.srcdata[dgl.NID][items.long()], of_edges[1]))
                self.assertTrue(torch.equal(back.dstdata[dgl.NID][users.long()], of_edges[0]))
                self.assertTrue(torch.equal(data["weight"], torch.from_numpy(arrays["weights"])[ids]))
                self.assertTrue(torch.equal(data["time"], torch.from_numpy(arrays["times"])[ids]))
            return True

        self.collect(job, take)

    def test_a_rank_without_links_in_the_last_step_has_empty_graphs(self):
        store = self.path("few-store")
        job = support.write_links(store)
        counts = []

        def train(session):
            for batch in session.epoch(0):
                _, positive, negative, _ = batch.to_dgl()
                counts.append((batch.seeds, positive.num_edges(), negative.num_edges()))

        self.run_job(train, job, dataset__path=store, sample__batch_size=1 << 14, train__epochs=1)  # one batch has all
        self.assertEqual({bool(seeds) for seeds, *_ in counts}, {True, False})
        for seeds, positive, negative in counts:
            self.assertEqual((positive, negative > 0), (seeds, seeds > 0))

    def test_a_batch_without_hops_has_no_blocks(self):
        def take(_, batch):
            with self.assertRaisesRegex(ValueError, "to_dgl: expected a batch with neighbors, found one of 0 hops"):
                batch.to_dgl()
            return True

        job = os.path.join(support.SOURCE, "examples", "deepwalk", "cora.json")
        self.collect(job, take, sample__batch_size=512)

    def test_links_come_with_graphs_of_their_pairs(self):
        store = self.path("links-store")
        job = support.write_links(store)

        def take(_, batch):
            inputs, positive, negative, blocks = batch.to_dgl()
            links = batch.links
            for graph, sources, destinations in (
                (positive, links.sources, links.destinations),
                (negative, links.negative_sources, links.negative_destinations),
            ):
                self.assertEqual(graph.num_nodes(), blocks[-1].num_dst_nodes())
                self.assertTrue(torch.equal(graph.ndata[dgl.NID], blocks[-1].dstdata[dgl.NID]))
                np.testing.assert_array_equal(graph.edges()[0].numpy(), sources)
                np.testing.assert_array_equal(graph.edges()[1].numpy(), destinations)
            self.assertEqual(positive.num_edges(), batch.seeds)
            self.assertTrue(torch.equal(inputs, torch.from_numpy(np.array(batch.original_ids))))
            return True

        self.collect(job, take, dataset__path=store, sample__batch_size=1024)

    def test_a_saved_graph_comes_back_in_blocks(self):
        torch.manual_seed(3)
        ends = {
            ("user", "to", "shop"): (torch.randint(0, 30, (200,)), torch.randint(0, 20, (200,))),
            ("shop", "to", "user"): (torch.randint(0, 20, (200,)), torch.randint(0, 30, (200,))),
        }
        graph = dgl.heterograph(ends, {"user": 30, "shop": 20})
        user, shop = graph.nodes["user"].data, graph.nodes["shop"].data
        user["feat"], user["x"], user["label"] = torch.rand(30, 4), torch.rand(30, 2), torch.randint(0, 3, (30,))
        user["train_mask"] = torch.arange(30) % 2 == 0
        shop["feat"], shop["brain"] = torch.rand(20, 3), torch.rand(20, 2).bfloat16()
        for key in ends:
            data = graph.edges[key].data
            data["w"], data["time"], data["feat"] = torch.rand(200) + 0.5, torch.randint(-9, 9, (200,)), torch.rand(200, 2)
            data["edge_label"] = torch.randint(0, 5, (200,))
        folder = self.path("graph")
        self.assertIsNone(troupe.save_dgl(graph, folder, weights="w"))
        columns = ["nodes-user/x", "nodes-shop/brain"] + [f"edges-{name}/edge_label" for name in ("user.to.shop", "shop.to.user")]
        job = {
            "dataset": {"path": folder},
            "sample": {"fanout": [-1, -1], "batch_size": 15, "edge_data": ["ids", "weights", "times", "features"]},
            "features": {"columns": columns},
        }

        def take(_, batch):
            inputs, outputs, blocks = batch.to_dgl()
            self.assertTrue(torch.equal(outputs["user"] % 2, torch.zeros(15, dtype=torch.long)))
            of_user, of_shop = (blocks[0].srcnodes[name].data for name in ("user", "shop"))
            for name, key in (("feat", "feat"), ("x", "x")):
                self.assertTrue(torch.equal(of_user[name], user[key][inputs["user"]]))
            for name in ("feat", "brain"):
                self.assertTrue(torch.equal(of_shop[name], shop[name][inputs["shop"]]))
            self.assertTrue(torch.equal(blocks[-1].dstnodes["user"].data["label"], user["label"][outputs["user"]]))
            for source, target in (("user", "shop"), ("shop", "user")):
                found = blocks[0].edges[f"{source}.to.{target}"].data
                drawn = graph.edges[source, "to", target].data
                ids = found[dgl.EID]
                self.assertGreater(len(ids), 100)
                for name, key in (("weight", "w"), ("time", "time"), ("feat", "feat"), ("edge_label", "edge_label")):
                    self.assertTrue(torch.equal(found[name], drawn[key][ids]), name)
                pairs = blocks[0].edges(etype=f"{source}.to.{target}")
                sides = (blocks[0].srcnodes[source].data, blocks[0].dstnodes[target].data)
                for places, side, expected in zip(pairs, sides, ends[source, "to", target]):
                    self.assertTrue(torch.equal(side[dgl.NID][places.long()], expected[ids]))
            return True

        self.collect(job, take)
        with self.assertRaises(FileExistsError):
            troupe.save_dgl(graph, folder)

    def test_a_graph_of_any_format_is_saved_in_the_order_of_its_edges(self):
        ends = torch.tensor([[0, 3, 2, 1], [3, 2, 1, 0]])
        for kind in ("coo", "csc", "csr"):
            troupe.save_dgl(dgl.graph(tuple(ends), num_nodes=4).formats(kind), self.path(kind))
            np.testing.assert_array_equal(np.load(self.path(kind + "/edge_edges.npy")), ends)

    def test_rows_of_several_dimensions_are_columns_and_empty_ones_are_left_out(self):
        graph = dgl.graph(([0, 1], [1, 0]))
        graph.ndata["feat"], graph.ndata["none"], graph.edata["feat"] = torch.rand(2, 2, 3), torch.rand(2, 0), torch.rand(2, 0)
        troupe.save_dgl(graph, self.path("windows"))
        done = run_words(PROGRAM, "import", self.path("windows"), self.path("windows-store"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nodes node: 2, columns feat f32 [2, 3]\n", done.stdout)

    def test_a_saved_graph_of_one_type(self):
        graph = dgl.graph((torch.tensor([0, 1, 2, 3]), torch.tensor([1, 2, 3, 0])))
        graph.ndata["feat"], graph.ndata["label"] = torch.eye(4)[:, :3], torch.tensor([0, 2, 1, 0])
        graph.ndata["train_mask"], graph.ndata["_ID"] = torch.tensor([True, False, True, False]), torch.arange(4)
        troupe.save_dgl(graph, self.path("one"))
        done = run_words(PROGRAM, "import", self.path("one"), self.path("one-store"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nodes node: 4, features 3 x f32, 3 classes", done.stdout)
        self.assertIn("edges edge: 4 (node -> node)", done.stdout)
        self.assertIn('split "": train 2', done.stdout)
        with self.assertRaisesRegex(ValueError, "expected labels named 'kind', found _ID, feat, label, train_mask"):
            troupe.save_dgl(graph, self.path("kind"), labels="kind")
        with self.assertRaisesRegex(ValueError, "expected a graph, found a block"):
            troupe.save_dgl(dgl.to_block(graph), self.path("block"))
        graph.edata["edge_index"] = torch.arange(4)
        with self.assertRaisesRegex(ValueError, "expected another name than 'edge_index'"):
            troupe.save_dgl(graph, self.path("index"))
        self.assertEqual([os.path.exists(self.path(name)) for name in ("kind", "block", "index")], [False] * 3)

    def test_what_has_no_such_form_is_refused(self):
        def refused(text):
            def take(_, batch):
                with self.assertRaisesRegex(ValueError, text):
                    batch.to_dgl()

            return take

        walks = os.path.join(support.SOURCE, "examples", "samplers", "walks.json")
        self.collect(walks, refused("to_dgl: expected a batch with edges, found random walks"))
        self.collect(CORA, refused('expected sample.subgraph "directional", found "induced"'), output=self.output() + "-i", sample__subgraph="induced")


if dgl is None:
    del Dgl

if __name__ == "__main__":
    unittest.main()
