"""PyTorch and PyTorch Geometric on batches. Skipped where they are not installed."""

import collections
import gc
import io
import json
import os
import sys
import unittest

import numpy as np
import support
from support import CORA, EXAMPLES, PROGRAM, Watched, line_of, run_words, with_settings

import troupe

try:
    import torch
    from torch_geometric.data import Data, HeteroData
    from torch_geometric.nn import HeteroConv, SAGEConv
    from torch_geometric.transforms import RandomLinkSplit
    from torch_geometric.utils import trim_to_layer
except ImportError as error:
    torch = None
    WHY = f"{error} (a Python with PyTorch and PyG: -DTROUPE_TORCH_PYTHON=…)"


class LeftOut(unittest.TestCase):
    def test_torch(self):
        if torch is None:
            self.skipTest(WHY)

    def test_the_package_does_not_import_torch(self):
        ran = support.python("-c", "import sys, troupe; print('torch' in sys.modules, 'torch_geometric' in sys.modules)")
        self.assertEqual(ran.stdout.split(), ["False", "False"], ran.stderr)


class Torch(support.Scratch):
    def test_tensors_share_the_memory_of_the_batch(self):
        def take(_, batch):
            data = batch.to_pyg()
            self.assertEqual(data.x.data_ptr(), batch.features.ctypes.data)
            self.assertEqual(data.n_id.data_ptr(), batch.original_ids.ctypes.data)
            self.assertEqual(data.y.data_ptr(), batch.labels.ctypes.data)
            self.assertEqual(data.edge_index.data_ptr(), batch.edges_of(0).index.ctypes.data)
            self.assertEqual(torch.from_numpy(np.asarray(batch.features)).data_ptr(), data.x.data_ptr())
            self.assertEqual(torch.from_dlpack(batch.hop_end).dtype, torch.int32)
            part = torch.from_dlpack(batch.features[1:5, 3:])
            self.assertEqual(part.data_ptr(), batch.features[1:5, 3:].ctypes.data)
            self.assertEqual(part.stride(), (1433, 1))
            return data, data.x.clone(), data.n_id.clone()

        kept = self.collect(CORA, take)
        gc.collect()
        for data, x, ids in kept:
            self.assertTrue(torch.equal(data.x, x))
            self.assertTrue(torch.equal(data.n_id, ids))

    def test_data_is_as_neighbor_loader_makes_it(self):
        def take(_, batch):
            data = batch.to_pyg()
            self.assertIsInstance(data, Data)
            self.assertTrue(data.validate())
            self.assertEqual(data.num_nodes, len(batch.nodes))
            self.assertEqual(data.batch_size, batch.seeds)
            self.assertEqual(sum(data.num_sampled_nodes), data.num_nodes)
            self.assertEqual(sum(data.num_sampled_edges), data.num_edges)
            self.assertEqual(data.num_sampled_nodes[0], batch.hop_end[0])
            self.assertTrue(torch.equal(data.seed_index, torch.arange(batch.seeds)))
            # Hop by hop: the nodes that edges lead to were there before.
            known, first = 0, 0
            for nodes, edges in zip(data.num_sampled_nodes, data.num_sampled_edges):
                known += nodes
                self.assertTrue((data.edge_index[1, first : first + edges] < known).all())
                first += edges
            return True

        self.assertEqual(len(self.collect(CORA, take)), 5)

    def test_layers_of_trimmed_edges_give_the_seeds_what_all_edges_give(self):
        torch.manual_seed(1)
        layers = [SAGEConv(1433, 16), SAGEConv(16, 7)]

        def take(_, batch):
            data = batch.to_pyg()
            with torch.no_grad():
                whole = layers[1](layers[0](data.x, data.edge_index).relu(), data.edge_index)
                x, edges = data.x, data.edge_index
                for number, layer in enumerate(layers):
                    x, edges, _ = trim_to_layer(
                        number, data.num_sampled_nodes, data.num_sampled_edges, x, edges
                    )
                    x = layer(x.relu() if number else x, edges)
            torch.testing.assert_close(x[data.seed_index], whole[data.seed_index])
            self.assertLess(edges.shape[1], data.num_edges)

        self.collect(CORA, take)

    def test_hetero_data(self):
        job, arrays = support.write_toy(self.path("toy"))

        def take(session, batch):
            data = batch.to_pyg()
            self.assertIsInstance(data, HeteroData)
            self.assertTrue(data.validate())
            user, item = data["user"], data["item"]
            buys, back = data["user", "buys", "item"], data["item", "rev_buys", "user"]
            self.assertEqual(user.batch_size, batch.seeds)
            self.assertTrue(torch.equal(user.y, torch.from_numpy(arrays["y_user"])[user.n_id[user.seed_index]]))
            ends = torch.stack([user.n_id[buys.edge_index[0]], item.n_id[buys.edge_index[1]]])
            self.assertTrue(torch.equal(ends, torch.from_numpy(arrays["edges"])[:, buys.e_id]))
            self.assertTrue(torch.equal(buys.edge_attr, torch.from_numpy(arrays["x_edge"])[buys.e_id]))
            self.assertTrue(torch.equal(buys.edge_weight, torch.from_numpy(arrays["weights"])[buys.e_id]))
            self.assertTrue(torch.equal(buys.edge_time, torch.from_numpy(arrays["times"])[buys.e_id]))
            self.assertTrue(torch.equal(buys.rating, torch.from_numpy(arrays["rating"])[buys.e_id]))
            self.assertEqual(user.brain.dtype, torch.bfloat16)
            words = torch.from_numpy(arrays["brain"].view(np.int16)).view(torch.bfloat16)
            self.assertTrue(torch.equal(user.brain, words[user.n_id]))
            self.assertEqual(user.brain.data_ptr(), batch.nodes_of("user").columns["brain"].ctypes.data)
            self.assertEqual(sum(data.num_sampled_edges["item", "rev_buys", "user"]), back.num_edges)
            self.assertEqual(sum(data.num_sampled_nodes["item"]), item.num_nodes)
            layer = HeteroConv({kind: SAGEConv((-1, -1), 3) for kind in data.edge_types})
            self.assertEqual(layer(data.x_dict, data.edge_index_dict)["user"].shape, (user.num_nodes, 3))
            return True

        self.collect(job, take)

    def test_disjoint_batches_and_links(self):
        def disjoint(_, batch):
            data = batch.to_pyg()
            self.assertEqual(len(data.batch), data.num_nodes)
            self.assertTrue(torch.equal(data.batch[data.edge_index[0]], data.batch[data.edge_index[1]]))

        self.collect(CORA, disjoint, sample__disjoint=True)
        store = self.path("links-store")
        job = support.write_links(store)

        def links(_, batch):
            data = batch.to_pyg()
            positives = len(batch.links.sources)
            self.assertEqual(data.edge_label.tolist(), [1.0] * positives + [0.0] * (2 * positives))
            self.assertEqual(data.edge_label_index.shape, (2, 3 * positives))
            self.assertEqual(data.edge_label_index[0, :positives].tolist(), batch.links.sources.tolist())

        self.collect(job, links, output=self.output() + "-links", dataset__path=store, sample__batch_size=4096, features__collect=False)

    def test_a_saved_graph_comes_back_in_batches(self):
        """All attributes of a `HeteroData`, along edge types whose relations have one name."""
        torch.manual_seed(3)
        graph = HeteroData()
        graph["user"].x = torch.rand(30, 4)
        graph["user"].y = torch.randint(0, 3, (30, 1))
        graph["user"].train_mask = torch.arange(30) % 2 == 0
        graph["user"].brain = torch.rand(30, 2).bfloat16()
        graph["user"].known = torch.rand(30) < 0.5
        graph["shop"].x = (torch.rand(20, 3) * torch.tensor([0.0, 1.0, 2.0])).to_sparse()
        graph["shop"].rank = torch.arange(20, dtype=torch.int16)
        for source, target in (("user", "shop"), ("shop", "user")):
            to = graph[source, "to", target]
            ends = [torch.randint(0, graph[kind].num_nodes, (200,)) for kind in (source, target)]
            to.edge_index = torch.stack(ends)
            to.edge_attr = torch.rand(200, 2)
            to.edge_weight = torch.rand(200) + 0.5
            to.edge_time = torch.randint(-9, 9, (200, 1))
            to.price = torch.rand(200, dtype=torch.float64)
        graph["user"].note = "of one user each"
        folder = self.path("saved")
        self.assertEqual(troupe.save_pyg(graph, folder), ["user.note"])
        columns = ["nodes-user/brain", "nodes-user/known", "nodes-shop/rank"]
        columns += [f"edges-{name}/price" for name in ("user.to.shop", "shop.to.user")]
        job = {
            "dataset": {"path": folder},
            "sample": {"fanout": [-1, -1], "batch_size": 15, "edge_data": ["ids", "weights", "times", "features"]},
            "features": {"columns": columns},
        }

        def take(_, batch):
            data = batch.to_pyg()
            user, item = data["user"], data["shop"]
            self.assertTrue(torch.equal(user.n_id[user.seed_index] % 2, torch.zeros(15, dtype=torch.long)))
            self.assertTrue(torch.equal(user.x, graph["user"].x[user.n_id]))
            self.assertTrue(torch.equal(user.y, graph["user"].y[user.n_id[user.seed_index], 0]))
            self.assertTrue(torch.equal(user.brain, graph["user"].brain[user.n_id]))
            self.assertTrue(torch.equal(user.known, graph["user"].known[user.n_id].to(torch.uint8)))
            self.assertTrue(torch.equal(item.x, graph["shop"].x.to_dense()[item.n_id]))
            self.assertTrue(torch.equal(item["rank"], item.n_id.int()))
            for source, target in (("user", "shop"), ("shop", "user")):
                found = data[source, f"{source}.to.{target}", target]
                drawn = graph[source, "to", target]
                self.assertGreater(found.num_edges, 100)
                ends = torch.stack([data[kind].n_id[row] for kind, row in zip((source, target), found.edge_index)])
                self.assertTrue(torch.equal(ends, drawn.edge_index[:, found.e_id]))
                self.assertTrue(torch.equal(found.edge_attr, drawn.edge_attr[found.e_id]))
                self.assertTrue(torch.equal(found.edge_weight, drawn.edge_weight[found.e_id]))
                self.assertTrue(torch.equal(found.edge_time, drawn.edge_time[found.e_id, 0]))
                self.assertTrue(torch.equal(found.price, drawn.price[found.e_id]))
            return True

        self.collect(job, take)
        with self.assertRaises(FileExistsError):
            troupe.save_pyg(graph, folder)

    def test_a_saved_graph_of_one_type(self):
        """What labels and masks of several shapes become."""
        edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])

        def saved(name, **attributes):
            data = Data(edge_index=edges, num_nodes=4, **attributes)
            self.assertEqual(troupe.save_pyg(data, self.path(name)), ["title"] if "title" in attributes else [])
            done = run_words(PROGRAM, "import", self.path(name), self.path(name + "-store"))
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        masks = torch.tensor([[True, False], [False, True], [True, True], [False, False]])
        text = saved("classes", y=torch.tensor([0, 2, 1, -1]), train_mask=masks, title="four")
        self.assertIn("nodes node: 4, 3 classes", text)
        self.assertIn("edges edge: 4 (node -> node)", text)
        self.assertIn('split "mask0": train 2', text)
        self.assertIn('split "mask1": train 2', text)
        targets = torch.tensor([[0.0, 1.0], [1.0, 1.0], [float("nan"), 0.0], [0.0, 0.0]])
        self.assertIn("2 target columns", saved("targets", y=targets))
        self.assertIn("2 target columns", saved("bits", y=masks))
        self.assertIn("1 columns of numbers", saved("number", y=torch.rand(4)))
        self.assertIn("2 columns of numbers", saved("numbers", y=torch.rand(4, 2).bfloat16()))
        self.assertIn("features 3 x f32", saved("csr", x=torch.eye(4)[:, :3].to_sparse_csr()))

    def test_rows_of_several_dimensions_are_columns_and_empty_ones_are_left_out(self):
        edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
        windows, pairs = torch.rand(4, 2, 3), torch.arange(8).reshape(4, 1, 2)
        empty = torch.zeros(4, 0)
        graph = Data(edge_index=edges, x=windows, edge_attr=pairs, known=empty, y=empty, train_mask=torch.ones(4, dtype=torch.bool))
        self.assertEqual(set(troupe.save_pyg(graph, self.path("windows"))), {"known", "y"})
        graph = Data(edge_index=edges, x=empty, edge_attr=empty)
        self.assertEqual(set(troupe.save_pyg(graph, self.path("empty"))), {"x", "edge_attr"})
        self.assertEqual(run_words(PROGRAM, "import", self.path("empty"), self.path("empty-store")).returncode, 0)

        def take(_, batch):
            data = batch.to_pyg()
            self.assertTrue(torch.equal(data.x, windows[data.n_id]))
            self.assertTrue(torch.equal(data.edge_attr, pairs[data.e_id]))

        columns = {"columns": ["nodes-node/x", "edges-edge/edge_attr"]}
        sample = {"fanout": [-1], "batch_size": 4, "edge_data": ["ids"]}
        self.collect({"dataset": {"path": self.path("windows")}, "sample": sample, "features": columns}, take)

    def test_what_a_store_does_not_have_is_refused_by_name(self):
        edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])

        def refused(kind, text, data):
            with self.assertRaisesRegex(kind, text):
                troupe.save_pyg(data, self.path("refused"))
            self.assertFalse(os.path.exists(self.path("refused")))

        def with_(**attributes):
            return Data(edge_index=edges, num_nodes=4, **attributes)

        refused(ValueError, r"node.y: expected .* found \[4, 2, 2\]", with_(y=torch.zeros(4, 2, 2)))
        refused(ValueError, r"node.val_mask: expected .* found \[4, 1, 1\]", with_(val_mask=torch.zeros(4, 1, 1)))
        refused(ValueError, r"node.deep: expected .* found \[4, 1, 2, 1, 2\]", with_(deep=torch.zeros(4, 1, 2, 1, 2)))
        refused(ValueError, "edge.edge_attr: expected a dense tensor", with_(edge_attr=torch.eye(4).to_sparse()))
        refused(ValueError, "edge: expected edge_index", Data(adj_t=torch.eye(4).to_sparse_csr(), num_nodes=4))
        links = {"edge_label_index": edges, "edge_label": torch.ones(3)}
        refused(ValueError, r"edge_label of train: expected a label for each of 4 links, found shape \[3\]", with_(**links))
        refused(TypeError, "data: expected a Data or HeteroData, found dict", {"edge_index": edges})
        graph = HeteroData(name="of no type")
        graph["a"].num_nodes = 4
        graph["a", "to", "b"].edge_index = edges
        graph["a", "to", "b"].edge_weight = torch.ones(4).bfloat16()
        refused(ValueError, "b: expected num_nodes", graph)
        graph["b"].num_nodes = 4
        self.assertEqual(troupe.save_pyg(graph, self.path("global")), ["name"])

    def test_a_saved_split_of_links_is_learned_and_scored(self):
        torch.manual_seed(4)
        ids = torch.randint(0, 50, (2, 400))
        whole = Data(x=torch.rand(50, 4), edge_index=ids[:, ids[0] != ids[1]], edge_time=torch.arange(400)[ids[0] != ids[1]])
        train, val, test = RandomLinkSplit(num_val=0.1, num_test=0.2)(whole)
        folder = self.path("links")
        self.assertEqual(troupe.save_pyg(train, folder, val=val, test=test), [])
        for name, of in (("val", val), ("test", test)):
            pairs = np.load(os.path.join(folder, f"edge_{name}_negatives.npy"))
            np.testing.assert_array_equal(pairs, of.edge_label_index[:, of.edge_label == 0].T)
        self.assertFalse(os.path.exists(os.path.join(folder, "edge_train_negatives.npy")))
        found = {}

        def take(session):
            found.update({role: sorted(map(tuple, session.links(role).original_ids.T.tolist())) for role in ("train", "val", "test")})

        job = {
            "dataset": {"path": folder},
            "task": {"kind": "link", "negatives": {"kind": "triplet"}},
            "sample": {"fanout": [4, 3], "batch_size": 32},
            "model": {"kind": "graphsage", "hidden": 8, "out_dim": 8},
            "train": {"epochs": 1, "loss": "bce"},
            "eval": {"negatives": {name: os.path.join(folder, f"edge_{name}_negatives.npy") for name in ("val", "test")}},
        }
        self.run_job(take, job)
        for name, of in (("train", train), ("val", val), ("test", test)):
            self.assertEqual(found[name], sorted(map(tuple, of.edge_label_index[:, of.edge_label == 1].T.tolist())))
        file = self.path("links.json")
        with open(file, "w") as to:
            json.dump(job, to)
        ran = run_words(PROGRAM, "run", file, *with_settings({"output": self.path("links-run")}))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stdout, rf"test +auc 0\.\d+ \({len(found['test'])} links")

    def test_links_of_several_classes_are_saved_with_them(self):
        graph = HeteroData()
        graph["a"].num_nodes = graph["b"].num_nodes = 3
        to = graph["a", "to", "b"]
        to.edge_index = to.edge_label_index = torch.tensor([[0, 1, 2], [2, 1, 0]])
        to.edge_label = torch.tensor([1, 0, 2])
        with self.assertRaisesRegex(ValueError, "to.edge_label: expected drawn_pairs=True or False .* found 1 of them"):
            troupe.save_pyg(graph, self.path("of-classes"))
        troupe.save_pyg(graph, self.path("of-classes"), drawn_pairs=True)
        done = run_words(PROGRAM, "import", self.path("of-classes"), self.path("of-classes-store"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("links to train 2", done.stdout)
        np.testing.assert_array_equal(np.load(self.path("of-classes/to_train_links_labels.npy")), [1, 2])
        for labels in ([1, 0, 2], [1, 0, 1]):
            to.edge_label = torch.tensor(labels)
            name = self.path(f"ratings-{labels[2]}")
            troupe.save_pyg(graph, name, drawn_pairs=False)
            np.testing.assert_array_equal(np.load(os.path.join(name, "to_train_links_labels.npy")), labels)
            self.assertEqual(np.load(os.path.join(name, "to_train_links.npy")).shape, (3, 2))

    def test_what_no_store_has_is_not_saved(self):
        with self.assertRaisesRegex(ValueError, "node.wave: expected elements of uint8, .* found complex64"):
            wave = Data(num_nodes=1, edge_index=torch.tensor([[0], [0]]), wave=torch.zeros(1, dtype=torch.complex64))
            troupe.save_pyg(wave, self.path("wave"))
        named = Data(num_nodes=2, edge_index=torch.tensor([[0], [1]]), city=["a", "b"], code=np.array(["x", "y"]))
        self.assertCountEqual(troupe.save_pyg(named, self.path("named")), ["city", "code"])
        with self.assertRaisesRegex(ValueError, "edge: expected edge_index, found none"):
            troupe.save_pyg(Data(x=torch.zeros(3, 1)), self.path("edges"))
        spaced = HeteroData()
        spaced["shop item"].num_nodes = 3
        with self.assertRaisesRegex(ValueError, "expected a name of 1 to 100 of .* found 'shop item'"):
            troupe.save_pyg(spaced, self.path("spaced"))
        self.assertEqual([os.path.exists(self.path(name)) for name in ("wave", "edges", "spaced")], [False] * 3)

    def test_what_has_no_such_form_is_refused(self):
        def refused(text):
            def take(_, batch):
                with self.assertRaisesRegex(ValueError, text):
                    batch.to_pyg()

            return take

        walks = os.path.join(support.SOURCE, "examples", "samplers", "walks.json")
        self.collect(walks, refused("random walks"))
        self.collect(CORA, refused('sample.frontier "new", found "all", .*to_dgl'), output=self.output() + "-all", sample__frontier="all")

    def test_gradients_of_modules(self):
        def train(session):
            with troupe.seeded(session.seed):
                model = torch.nn.Linear(3, 2)
            frozen = torch.nn.Parameter(torch.ones(2), requires_grad=False)
            model.register_parameter("frozen", frozen)
            unused = torch.nn.Parameter(torch.ones(2))
            model.register_parameter("unused", unused)
            x = torch.arange(3.0) + session.rank
            model(x).sum().backward()
            total = session.all_reduce_gradients(model, seeds=1 + 2 * session.rank)
            self.assertEqual(total, 4)
            self.assertTrue(torch.equal(model.weight.grad, torch.tensor([[0.75, 1.75, 2.75]] * 2)))
            self.assertTrue(torch.equal(unused.grad, torch.zeros(2)))
            self.assertIsNone(frozen.grad)
            double = torch.nn.Linear(2, 2).double()
            double.weight.grad = torch.zeros(2, 2).double()
            with self.assertRaisesRegex(TypeError, "expected float32"):
                session.all_reduce_gradients(double.parameters(), seeds=1)
            with torch.no_grad():
                model.weight += session.rank
            session.broadcast(model)
            with troupe.seeded(session.seed):
                self.assertTrue(torch.equal(model.weight, torch.nn.Linear(3, 2).weight))

        self.run_job(train)

    def test_buffers_of_every_dtype_are_given_to_all_ranks(self):
        def make():
            model = torch.nn.BatchNorm1d(3)
            model(torch.rand(4, 3))
            for name, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16), ("f64", torch.float64)):
                model.register_buffer(name, torch.randn(2, 3).to(dtype))
            model.register_buffer("kept", torch.rand(7) < 0.5)
            model.register_buffer("order", torch.randperm(9) * 2**40)
            model.register_buffer("none", torch.zeros(0, dtype=torch.int64))
            return model

        def train(session):
            with troupe.seeded(session.rank):
                model = make()
            session.broadcast(model)
            with troupe.seeded(0):
                wanted = make().state_dict()
            for name, found in model.state_dict().items():
                self.assertTrue(torch.equal(found, wanted[name]), name)

        self.run_job(train)

    def test_gradients_that_cannot_be_added_are_refused_with_the_way_out(self):
        def train(session):
            sparse = torch.nn.Embedding(5, 2, sparse=True)
            sparse(torch.tensor([1, 3])).sum().backward()
            brain = torch.nn.Linear(2, 2).bfloat16()
            refused = ((sparse, "dense ones, found a sparse one\ntry: sparse=False"), (brain, "bfloat16\ntry: .*autocast"))
            for model, text in refused:
                with self.assertRaisesRegex(TypeError, text):
                    session.all_reduce_gradients(model, seeds=1)

        self.run_job(train)

    def test_rows_of_bfloat16_are_written(self):
        def train(session):
            rows = torch.randn(4, 3).bfloat16()
            for dtype in ("f32", "bf16"):
                tensor = session.tensor(dtype, (3,), rows=8, dtype=dtype)
                mine = range(4 * session.rank, 4 * session.rank + 4)
                tensor.write(mine, rows)
                found = torch.from_numpy(np.array(tensor.read(mine)).view(np.int16 if dtype == "bf16" else np.float32))
                self.assertTrue(torch.equal(found.view(torch.bfloat16) if dtype == "bf16" else found.bfloat16(), rows))

        self.run_job(train)

    def test_gradients_are_named_by_their_parameters(self):
        def train(session):
            def refused(kind, text, gradients):
                with self.assertRaisesRegex(kind, text):
                    session.all_reduce_gradients(gradients, seeds=1)

            model = torch.nn.Linear(3, 2)
            model(torch.ones(3)).sum().backward()
            refused(TypeError, "(?s)expected parameters.*not their gradients", [p.grad for p in model.parameters()])
            refused(TypeError, "(?s)expected parameters.*not their gradients", torch.ones(3))
            refused(TypeError, "(?s)expected parameters.*not their gradients", model.weight * 2)
            refused(TypeError, "found ndarray", [np.zeros(2, np.float32), model.weight])
            one = torch.nn.Parameter(torch.ones(3))
            one.grad = torch.full((3,), 1.0 + session.rank)
            self.assertEqual(session.all_reduce_gradients(one, seeds=1), 2)
            self.assertTrue(torch.equal(one.grad, torch.full((3,), 1.5)))
            rows = torch.ones(2, requires_grad=True)
            rows.grad = torch.ones(2)
            self.assertEqual(session.all_reduce_gradients([rows, one], seeds=1), 2)

        self.run_job(train)

    def test_no_gradients_are_an_error(self):
        def train(session):
            frozen = torch.nn.Linear(3, 2).requires_grad_(False)
            for nothing in (frozen, frozen.parameters(), torch.nn.ReLU(), []):
                with self.assertRaisesRegex(ValueError, "expected a parameter that requires a gradient.*found none"):
                    session.all_reduce_gradients(nothing, seeds=1)

        self.run_job(train)

    def test_tensors_are_summed_over_the_ranks(self):
        def train(session):
            mine = torch.full((2, 3), 10.0**session.rank)
            session.all_reduce(mine)
            self.assertTrue(torch.equal(mine, torch.full((2, 3), 11.0)))
            values = torch.tensor([1.0 + session.rank, 4], requires_grad=True)
            self.assertEqual(session.all_reduce_mean(values, 1 + 2 * session.rank), 4)
            self.assertEqual(values.tolist(), [0.75, 2])
            with self.assertRaisesRegex(TypeError, "float32.*gaps"):
                session.all_reduce(torch.ones(4, 4)[:, ::2])
            with self.assertRaisesRegex(TypeError, "float32"):
                session.all_reduce(torch.ones(3, dtype=torch.float64))

        self.run_job(train)

    def test_state_is_read_without_executing_it(self):
        from troupe._state import Keeper

        class Evil:
            def state_dict(self):
                return {"x": Evil()}

            def load_state_dict(self, state):
                raise AssertionError("it was read")

            def __reduce__(self):
                return os.system, ("echo executed",)

        keeper = Keeper()
        keeper.add({"model": torch.nn.Linear(1, 1)})
        out = io.BytesIO()
        torch.save(Evil().state_dict(), out)
        state = io.BytesIO()
        np.savez(state, model=np.frombuffer(out.getbuffer(), np.uint8))
        with self.assertRaisesRegex(Exception, "(?i)weights.only|unsupported"):
            keeper.restore(state.getvalue())
        with self.assertRaisesRegex(TypeError, "keep: evil, of type Evil: .*cannot be restored.*\ntry: "):
            keeper.add({"evil": Evil()})

    def test_what_cannot_be_restored_is_not_kept(self):
        from troupe._state import Keeper

        class Own:
            def __init__(self, **state):
                self.state = state

            def state_dict(self):
                return self.state

            def load_state_dict(self, state):
                self.state = state

        keeper = Keeper()
        for state in ({"seen": {1, 2}}, {"best": np.float64(3)}, {"call": lambda: 0}, {"deep": [{"x": object()}]}):
            with self.subTest(*state), self.assertRaisesRegex(TypeError, "(?s)keep: mine, of type Own: .*on_save"):
                keeper.add({"mine": Own(**state)})
        mine = Own(counts=collections.Counter("aab"), pair=(1, [collections.Counter()]), ordered=collections.OrderedDict(a=2))
        kept = dict(mine.state)
        keeper.add({"mine": mine})
        bytes_of = keeper.save()
        self.assertEqual(mine.state, kept)
        mine.state = None
        keeper.restore(bytes_of)
        self.assertEqual(mine.state, kept)
        self.assertEqual([type(mine.state[name]) for name in kept], [type(value) for value in kept.values()])
        self.assertIs(type(mine.state["pair"][1][0]), collections.Counter)
        with self.assertRaisesRegex(TypeError, "keep: other, of type Own"):
            keeper.add({"other": Own(**{"troupe: collections.Counter": {}})})

    def test_schedulers_come_back(self):
        from troupe._state import Keeper

        kinds = torch.optim.lr_scheduler

        def make(kind):
            optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], 0.1)
            scheduler = {
                "multi": lambda: kinds.MultiStepLR(optimizer, [2, 2, 5], 0.5),
                "sequential": lambda: kinds.SequentialLR(
                    optimizer, [kinds.ConstantLR(optimizer, 0.5, 2), kinds.MultiStepLR(optimizer, [2, 3])], [3]
                ),
                "cosine": lambda: kinds.CosineAnnealingLR(optimizer, 5),
            }[kind]()
            keeper = Keeper()
            keeper.add({"scheduler": scheduler, "optimizer": optimizer})
            return optimizer, scheduler, keeper

        for kind in ("multi", "sequential", "cosine"):
            with self.subTest(kind):
                rates = []
                whole = make(kind)
                for turn in range(9):
                    if turn == 4:
                        resumed = make(kind)
                        resumed[2].restore(whole[2].save())
                    for optimizer, scheduler, _ in (whole,) if turn < 4 else (whole, resumed):
                        optimizer.step()
                        scheduler.step()
                        rates.append(optimizer.param_groups[0]["lr"])
                self.assertEqual(rates[4::2], rates[5::2])
                self.assertGreater(len(set(rates)), 1)

    def test_modules_and_optimizers_come_back(self):
        from troupe._state import Keeper

        def make():
            model = torch.nn.Linear(4, 2)
            optimizer = torch.optim.Adam(model.parameters(), lr=0.1, weight_decay=1e-3)
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)
            keeper = Keeper()
            keeper.add({"model": model, "optimizer": optimizer, "schedule": schedule})
            return model, optimizer, schedule, keeper

        def step(model, optimizer, schedule):
            optimizer.zero_grad()
            model(torch.ones(4)).square().sum().backward()
            optimizer.step()
            schedule.step()

        model, optimizer, schedule, keeper = make()
        for _ in range(4):
            step(model, optimizer, schedule)
        state = keeper.save()
        other, other_optimizer, other_schedule, other_keeper = make()
        other_keeper.restore(state)
        for _ in range(4):
            step(model, optimizer, schedule)
            step(other, other_optimizer, other_schedule)
        self.assertTrue(torch.equal(model.weight, other.weight))


class Examples(support.Scratch):
    def words(self, name, *first, **changes):
        settings = {key.replace("__", "."): value for key, value in changes.items()}
        settings["output"] = self.path(name)
        program = os.path.join(EXAMPLES, "train_pyg.py")
        return [PROGRAM, "run", CORA, *first, *with_settings(settings), "--", sys.executable, "-B", program]

    def test_sage_of_pyg_in_two_processes_learns_cora_and_resumes_to_the_same_bits(self):
        local = {"cluster__launch": "local"}
        whole = run_words(*self.words("whole", **local), timeout=300)
        self.assertEqual(whole.returncode, 0, whole.stdout + whole.stderr)
        self.assertEqual(line_of(whole.stdout, "batches"), "batches " + support.CORA_DIGEST)
        self.assertGreaterEqual(float(line_of(whole.stdout, "test accuracy").split()[-1]), 0.785)
        stopped = Watched(*self.words("stopped", **local), folder=self.folder)
        stopped.wait_for("epoch 4: ", 120)
        stopped.interrupt()
        self.assertEqual(stopped.end(120), 130, stopped.text())
        resumed = run_words(*self.words("stopped", "--resume", **local), timeout=300)
        simulated = run_words(*self.words("simulated"), timeout=300)
        there = run_words(*self.words("there", cluster__device="emulated:1"), timeout=300)
        for other in (resumed, simulated, there):
            self.assertEqual(other.returncode, 0, other.stdout + other.stderr)
            for word in ("weights", "test accuracy", "batches", "epoch 30:"):
                self.assertEqual(line_of(other.stdout, word), line_of(whole.stdout, word))


if torch is None:
    del Torch, Examples

if __name__ == "__main__":
    unittest.main()
