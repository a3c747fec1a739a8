"""Tensors by name, in this process."""

import os
import unittest

import numpy as np
import support

import troupe


class Tensors(support.Scratch):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.toy, cls.arrays = support.write_toy(cls._scratch.name + "/toy")

    def test_rows_that_are_written_are_read(self):
        def train(session):
            memory = session.tensor("memory", (2,), node_type="user")
            self.assertEqual((memory.name, memory.dtype, memory.shape, len(memory)), ("memory", "f32", (2,), 60))
            nodes = session.seeds("train").nodes
            rows = np.stack([nodes, nodes + 0.5], axis=1)
            memory.write(nodes, rows)
            memory.add(nodes[:1], np.ones((1, 2)))
            rows[0] += 1
            session.barrier()
            same = session.tensor("memory")
            found = same.read(nodes)
            np.testing.assert_array_equal(found, rows.astype(np.float32))
            self.assertFalse(found.flags.writeable)

        self.run_job(train, self.toy)

    def test_every_kind_of_numbers_and_rows(self):
        def train(session):
            for dtype in ("f32", "f64", "f16", "i32", "i64", "u8", np.int64, "float32"):
                name = str(dtype)
                tensor = session.tensor(name, (2, 1), dtype=dtype, rows=9)
                wanted = np.array([[[3], [4]], [[5], [6]]])
                if session.rank == 1:
                    tensor.write([7, 2], wanted)
                    tensor.add(range(7, 9), 1)
                session.barrier()
                found = tensor.read([2, 7, 8, 0])
                np.testing.assert_array_equal(found, [[[5], [6]], [[4], [5]], [[1], [1]], [[0], [0]]])
                self.assertEqual(found.dtype.itemsize * 8, int(tensor.dtype[1:]))
            brain = session.tensor("brain", (), dtype="bf16", rows=3)
            if session.rank == 0:
                brain.write([1], np.float32(1.5))
                brain.write([2], np.array(0x7FFFFFFF, np.uint32).view(np.float32))  # a NaN that rounding would carry over
            session.barrier()
            np.testing.assert_array_equal(brain.read([0, 1, 2]), [0, 0x3FC0, 0x7FFF])
            buys = session.tensor("buys", (), dtype="i64", edge_type="buys")
            self.assertEqual(len(buys), 400)
            mine = session.edges("buys")
            buys.write(mine, np.asarray(mine) * 3)
            session.barrier()
            np.testing.assert_array_equal(buys.read(slice(0, 400)), np.arange(400) * 3)

        self.run_job(train, self.toy)

    def test_numbers_outside_of_the_dtype_are_refused(self):
        def train(session):
            def expect(text, tensor, values):
                with self.assertRaisesRegex(ValueError, text):
                    tensor.write([0, 1], values)

            pairs = session.tensor("pairs", (2,), dtype="i32", rows=2)
            bytes_of = session.tensor("bytes", (), dtype="u8", rows=2)
            long = session.tensor("long", (), dtype="i64", rows=2)
            expect(r"expected i32, -2147483648 to 2147483647, got 1099511627776 at \[1, 0\]", pairs, [[1, 2], [2**40, 2**41]])
            expect(r"expected u8, 0 to 255, got 300$", bytes_of, 300)
            expect(r"expected u8, 0 to 255, got -1 at \[1\]", bytes_of, [3, -1])
            expect(r"got 18446744073709551615 at \[0\]", long, np.array([2**64 - 1, 3], np.uint64))
            expect(r"got 1180591620717411303424 at \[0\]", long, [2**70, 3])
            if session.rank == 0:
                pairs.write([0, 1], [[-(2**31), 2**31 - 1], [True, 0]])
                bytes_of.write([0, 1], np.array([0, 255]))
                long.write([0, 1], np.array([2**63 - 1, 5], np.uint64))
            session.barrier()
            np.testing.assert_array_equal(pairs.read([0, 1]), [[-(2**31), 2**31 - 1], [1, 0]])
            np.testing.assert_array_equal(bytes_of.read([0, 1]), [0, 255])
            np.testing.assert_array_equal(long.read([0, 1]), [2**63 - 1, 5])

        self.run_job(train, self.toy)

    def test_a_deleted_tensor_is_not_taken_for_another_of_its_name(self):
        def train(session):
            first = session.tensor("t", (), rows=3)
            session.delete_tensor("t")
            second = session.tensor("t", (), rows=3)
            for call in (lambda: first.read([0]), lambda: first.write([0], 1), lambda: first.export(self.path("deleted.npy"))):
                with self.assertRaisesRegex(troupe.Error, 'tensor "t": was deleted') as refused:
                    call()
                self.assertEqual(refused.exception.code, "not_found")
            self.assertEqual(second.read([0]), [0])

        self.run_job(train, self.toy)

    def test_values_that_are_no_numbers_are_refused(self):
        def train(session):
            for dtype in ("f32", "bf16", "i32"):
                tensor = session.tensor(dtype, (), rows=2, dtype=dtype)
                for nothing in (None, "1", [1j, 2]):
                    with self.assertRaises(TypeError, msg=f"{nothing} of {dtype}"):
                        tensor.write([0, 1], nothing)

        self.run_job(train, self.toy)

    def test_two_exports_to_one_file_do_not_mix(self):
        """Of two ranks that write tensors of their own to one file one is refused, and the file is that of the other."""
        written, refused = [], []

        def train(session):
            tensors = [session.tensor(name, (64,), rows=20000, init=("normal", 1.0)) for name in "ab"]
            for turn in range(8):
                file = self.path(f"one-{turn}.npy")
                session.barrier()
                try:
                    tensors[session.rank].export(file)
                    written.append((file, tensors[session.rank].read(range(20000))))
                except troupe.Error as error:
                    refused.append((error.code, str(error)))

        self.run_job(train, self.toy)
        self.assertEqual((len(written), len(refused)), (8, 8))
        for file, rows in written:
            np.testing.assert_array_equal(np.load(file), rows)
        for code, text in refused:
            self.assertEqual(code, "failed_precondition")
            self.assertRegex(text, "one-[0-7].npy: expected (one export to it, .*one rank|a new file)")
        self.assertFalse([name for name in os.listdir(self.folder) if "unfinished" in name])

    def test_columns_of_the_store_are_read_only(self):
        def train(session):
            small = session.tensor("small")
            self.assertEqual((small.dtype, small.shape, len(small), small.read_only), ("u8", (2,), 60, True))
            rows = session.read_rows(np.arange(60), "user")
            np.testing.assert_array_equal(small.read(np.arange(60)), self.arrays["small"][rows.original_ids])
            with self.assertRaisesRegex(troupe.Error, "which is read only"):
                small.write([0], [[1, 2]])
            if session.rank == 0:
                file = self.path("small.npy")
                small.export(file)
                np.testing.assert_array_equal(np.load(file), self.arrays["small"])
                session.tensor("half", node_type="user").export(self.path("half.npy"))
                np.testing.assert_array_equal(np.load(self.path("half.npy")), self.arrays["half"])
            session.barrier()

        self.run_job(train, self.toy)

    def test_columns_of_edges_are_read_by_edge_id(self):
        def train(session):
            rating = session.tensor("rating", edge_type="buys")
            self.assertEqual((rating.dtype, rating.shape, len(rating), rating.read_only), ("f64", (), 400, True))
            ids = np.arange(400)[::-1]
            np.testing.assert_array_equal(rating.read(ids), self.arrays["rating"][ids])
            np.testing.assert_array_equal(rating.read(slice(3, 6)), self.arrays["rating"][3:6])
            with self.assertRaisesRegex(troupe.Error, "which is read only"):
                rating.write([0], [1])
            with self.assertRaisesRegex(troupe.Error, "rows below 400"):
                rating.read([400])
            with self.assertRaisesRegex(troupe.Error, "of edge type buys: the graph has none"):
                session.tensor("small", edge_type="buys")
            if session.rank == 0:
                rating.export(self.path("rating.npy"))
                np.testing.assert_array_equal(np.load(self.path("rating.npy")), self.arrays["rating"])
            session.barrier()

        self.run_job(train, self.toy)

    def test_exports_are_in_the_order_of_original_ids_and_start_alike(self):
        def train(session):
            noise = session.tensor("noise", (3,), node_type="item", init=("normal", 2))
            if session.rank == 0:
                noise.export(self.path(f"noise-{session.world}-{self.parts}.npy"))
            session.barrier()

        for self.parts in (3, 2):
            self.run_job(train, self.toy, partition__parts=self.parts, output=self.path(f"noise-{self.parts}"))
        first, second = (np.load(self.path(f"noise-2-{parts}.npy")) for parts in (3, 2))
        self.assertEqual(first.shape, (40, 3))
        np.testing.assert_array_equal(first, second)
        self.assertAlmostEqual(float(first.std()), 2, delta=0.5)

    def test_mistakes_are_told(self):
        def train(session):
            def expect(kind, text, call, *arguments, **keywords):
                with self.assertRaisesRegex(kind, text):
                    call(*arguments, **keywords)

            expect(troupe.Error, "none was made", session.tensor, "memory")
            expect(ValueError, "expected one of item, user", session.tensor, "t", ())
            expect(ValueError, "expected one of node_type, edge_type and rows", session.tensor, "t", (), rows=1, edge_type=0)
            expect(TypeError, "expected one of f32", session.tensor, "t", (), dtype="complex64", rows=1)
            expect(troupe.Error, 'got "normal" of i32', session.tensor, "t", (), dtype="i32", rows=1, init=("normal", 1))
            tensor = session.tensor("t", (2,), dtype="i32", rows=4)
            expect(troupe.Error, "expected what was made before", session.tensor, "t", (3,), dtype="i32", rows=4)
            expect(troupe.Error, "expected rows below 4, got 4", tensor.read, [4])
            expect(troupe.Error, "expected rows below 4", tensor.write, [4], [[1, 2]])
            expect(TypeError, "expected i32, found float64", tensor.write, [0], [[0.5, 2]])
            expect(ValueError, "broadcast", tensor.write, [0], [[1, 2, 3]])
            expect(ValueError, "both ends", tensor.read, slice(None, 3))
            expect(TypeError, "whole numbers", tensor.read, [0.5])
            session.delete_tensor("t")
            expect(troupe.Error, "was deleted", tensor.read, [0])
            expect(troupe.Error, "column", session.tensor, "none", node_type="user")

        self.run_job(train, self.toy)

    def test_checkpoints_put_them_back(self):
        seen = []

        def train(session):
            count = session.tensor("count", (), dtype="i64", node_type="user")
            for e in range(session.first_epoch, session.epochs):
                for batch in session.epoch(e):
                    count.add(batch.nodes[batch.seed_index], 1)
                    session.end_step()
            session.barrier()
            seen.append(count.read(session.seeds("train").nodes).tolist())

        self.run_job(train, self.toy, checkpoint__every__epochs=1, train__epochs=2)
        self.run_job(train, self.toy, resume=True, checkpoint__every__epochs=1, train__epochs=5)
        self.assertEqual([sorted(set(s)) for s in seen], [[2], [2], [5], [5]])


if __name__ == "__main__":
    unittest.main()
