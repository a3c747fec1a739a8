"""Arrays of batches: equal to what `troupe batches` writes, not copied, alive as long as needed."""

import gc
import os
import unittest

import numpy as np
import support
from support import CORA, batch_file, write_batches

import troupe


class Batches(support.Scratch):
    def collect(self, job, take=lambda session, batch: batch, **changes):
        """What `take` makes of the first epoch's batches, by number."""
        found = {}

        def train(session):
            for batch in session.epoch(0):
                if batch.seeds:
                    found[batch.number] = take(session, batch)

        self.run_job(train, job, **changes)
        return found

    def expect_equal(self, array, file):
        if file is None:
            self.assertIsNone(array)
            return
        self.assertIsInstance(array, troupe.Array)
        np.testing.assert_array_equal(array.astype(file.dtype), file)
        self.assertEqual(array.dtype.itemsize, file.dtype.itemsize)

    def expect_types(self, folder, batch, nodes, edges):
        for name in nodes:
            of_type = batch.nodes_of(name)
            self.expect_equal(of_type.original_ids, batch_file(folder, batch.number, "nodes-" + name, "ids"))
            for attribute in ("hop_end", "features", "trees"):
                self.expect_equal(
                    getattr(of_type, attribute), batch_file(folder, batch.number, "nodes-" + name, attribute)
                )
        for name in edges:
            of_type = batch.edges_of(name)
            for attribute in ("row_begin", "offsets", "sources", "edge_ids", "weights", "times", "features"):
                self.expect_equal(
                    getattr(of_type, attribute), batch_file(folder, batch.number, "edges-" + name, attribute)
                )

    def test_arrays_are_those_that_the_program_writes(self):
        folder = write_batches(CORA, self.path("cora"))
        batches = self.collect(CORA)
        self.assertEqual(sorted(batches), list(range(5)))
        for number, batch in batches.items():
            self.expect_types(folder, batch, ["node"], ["edge"])
            self.expect_equal(batch.labels, batch_file(folder, number, "labels"))
            self.expect_equal(batch.seed_index, batch_file(folder, number, "seed_index"))
            np.testing.assert_array_equal(
                batch.original_ids[batch.seed_index], batch_file(folder, number, "seeds")
            )
            self.assertEqual(batch.features.dtype, np.float32)
            self.assertEqual(batch.features.shape, (len(batch.nodes), 1433))
            self.assertEqual((batch.hops, batch.frontier, batch.subgraph, batch.epoch), (2, "new", "directional", 0))

    def test_types_edge_data_and_columns(self):
        job, arrays = support.write_toy(self.path("toy"))
        folder = write_batches(job, self.path("toy-batches"))
        for number, batch in self.collect(job).items():
            self.expect_types(folder, batch, ["user", "item"], ["buys", "rev_buys"])
            users, items = batch.nodes_of("user"), batch.nodes_of("item")
            self.assertEqual(list(users.columns), ["brain", "half", "small"])
            for name, column in users.columns.items():
                self.assertEqual(column.dtype, arrays[name].dtype)
                np.testing.assert_array_equal(column, arrays[name][users.original_ids])
            np.testing.assert_array_equal(items.columns["long"], arrays["long"][items.original_ids])
            buys = batch.edges_of("buys")
            np.testing.assert_array_equal(buys.columns["rating"], arrays["rating"][buys.edge_ids])
            self.expect_equal(
                buys.columns["rating"], batch_file(folder, number, "edges-buys", "columns", "rating")
            )
            np.testing.assert_array_equal(buys.features, arrays["x_edge"][buys.edge_ids])
            self.assertIs(batch.nodes_of(1), users)
            with self.assertRaisesRegex(KeyError, "expected one of item, user, got 'shop'"):
                batch.nodes_of("shop")

    def test_edge_index_has_the_edges_of_every_row(self):
        job, arrays = support.write_toy(self.path("toy-index"))
        for batch in self.collect(job).values():
            for edges in batch.all_edges:
                to, source = batch.all_nodes[edges.destination_type], batch.all_nodes[edges.source_type]
                pairs = np.stack([source.original_ids[edges.index[0]], to.original_ids[edges.index[1]]])
                ends = arrays["edges"][:, edges.edge_ids % 400]  # reversed ones have ids from 400 on
                np.testing.assert_array_equal(pairs, ends if edges.name == "buys" else ends[::-1])
                self.assertEqual(sum(edges.per_hop), len(edges))

    def test_blocks_have_the_edges_of_a_layer(self):
        def take(_, batch):
            last, whole = batch.block(1, 2), batch.block(0, 2)
            self.assertEqual(last.destinations, batch.hop_end[0])
            self.assertEqual(whole.destinations, batch.hop_end[1])
            self.assertEqual(whole.sources_count, len(batch.nodes))
            edges = batch.edges_of(0)
            np.testing.assert_array_equal(whole.offsets, edges.offsets)
            self.assertTrue(np.shares_memory(whole.sources, edges.sources))
            for bad in ((2, 2), (0, 3)):
                with self.assertRaisesRegex(ValueError, "block: expected"):
                    batch.block(*bad)
            return True

        self.assertEqual(len(self.collect(CORA, take)), 5)

    def test_links(self):
        store = self.path("links-store")
        job = support.write_links(store)
        changes = {"dataset__path": store, "sample__batch_size": 2048, "features__collect": False}
        folder = write_batches(job, self.path("links"), **changes)

        def take(session, batch):
            share = session.links("train")
            self.assertEqual(share.nodes.shape, share.original_ids.shape)
            with self.assertRaisesRegex(troupe.Error, "links") as raised:
                session.seeds("train")
            self.assertEqual(raised.exception.code, "failed_precondition")
            return batch

        for number, batch in self.collect(job, take, **changes).items():
            links = batch.links
            self.expect_equal(links.sources, batch_file(folder, number, "link_sources"))
            self.expect_equal(links.destinations, batch_file(folder, number, "link_destinations"))
            self.expect_equal(links.negative_sources, batch_file(folder, number, "negative_sources"))
            self.expect_equal(links.negative_destinations, batch_file(folder, number, "negative_destinations"))
            self.assertIsNone(links.labels)
            self.assertIsNone(batch.labels)
            self.assertEqual(batch.seeds, len(links.sources))

    def test_walks(self):
        job = os.path.join(support.SOURCE, "examples", "samplers", "walks.json")
        folder = write_batches(job, self.path("walks"))
        for number, batch in self.collect(job).items():
            np.testing.assert_array_equal(batch.walks.nodes, batch_file(folder, number, "walks"))
            self.assertEqual(batch.walks.nodes.shape[1], batch.walks.steps + 1)
            self.expect_equal(batch.walks.restarts, batch_file(folder, number, "walk_restarts"))
            for pairs, name in zip(batch.walks.pairs(3), ("pair_centers", "pair_contexts")):
                self.expect_equal(pairs, batch_file(folder, number, name))

    def test_arrays_outlive_batch_session_and_run(self):
        def take(_, batch):
            return batch.features, np.array(batch.features), batch.original_ids[::2], np.array(batch.original_ids[::2])

        kept = self.collect(CORA, take)
        gc.collect()
        for features, copy, ids, copy_of_ids in kept.values():
            np.testing.assert_array_equal(features, copy)
            np.testing.assert_array_equal(ids, copy_of_ids)

    def test_memory_is_shared_and_read_only(self):
        def take(_, batch):
            again = np.from_dlpack(batch.features)
            self.assertTrue(np.shares_memory(again, batch.features))
            self.assertEqual(again.ctypes.data, batch.features.ctypes.data)
            self.assertFalse(batch.features.flags.owndata)
            self.assertTrue(np.shares_memory(batch.features, batch.nodes_of(0).features))
            self.assertTrue(np.shares_memory(np.from_dlpack(batch.features[3:9, 5:]), batch.features))
            np.testing.assert_array_equal(np.from_dlpack(batch.features[3:9, 5:]), batch.features[3:9, 5:])
            with self.assertRaisesRegex(ValueError, "read-only"):
                batch.features[0, 0] = 1
            with self.assertRaises(ValueError):
                batch.features.flags.writeable = True
            return again, np.array(again)

        kept = self.collect(CORA, take)
        gc.collect()
        for shared, copy in kept.values():
            np.testing.assert_array_equal(shared, copy)

    def test_strides_that_dlpack_does_not_have_are_refused(self):
        """PyTorch 2.1 ends the process at negative ones; parts of elements would be left out."""

        def take(_, batch):
            odd = np.ndarray((4,), "f4", np.arange(40, dtype="u1").tobytes(), 1, (5,)).view(troupe.Array)
            for array in (batch.original_ids[::-1], batch.features[:, ::-2], odd):
                with self.assertRaisesRegex(BufferError, "expected strides .* try: its copy"):
                    array.__dlpack__()
                np.testing.assert_array_equal(np.from_dlpack(array.copy()), array)
            self.assertEqual(np.from_dlpack(batch.features[::3, 1::2]).shape, batch.features[::3, 1::2].shape)

        self.collect(CORA, take)

    def test_memory_of_dropped_batches_returns(self):
        """Kept arrays keep their batch; dropped ones do not."""

        def train(session):
            for e in range(session.epochs):
                for batch in session.epoch(e):
                    capsule = batch.features.__dlpack__()
                    del capsule  # nobody took it
            session.barrier()

        def resident():
            gc.collect()
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        self.run_job(train, train__epochs=40)
        before = resident()
        self.run_job(train, overwrite=True, train__epochs=200)  # 1000 batches of some 2 MB
        self.assertLess(resident() - before, 300e6)

    def test_a_rank_without_a_batch_gets_arrays_of_nothing(self):
        empty = []

        def train(session):
            for batch in session.epoch(0):
                if batch.seeds == 0:
                    empty.append(
                        (batch.features.shape, batch.labels, batch.edges_of(0).index.shape, len(batch.nodes), batch.block(0, 2))
                    )

        self.run_job(train)
        self.assertEqual(len(empty), 1)
        shape, labels, index, nodes, block = empty[0]
        self.assertEqual((shape[0], index, nodes), (0, (2, 0), 0))
        self.assertEqual(len(labels), 0)
        self.assertEqual(block.destinations, 0)


if __name__ == "__main__":
    unittest.main()
