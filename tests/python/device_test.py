"""Batches in the memory of the ranks' devices: emulated ones, whose memory is the host's."""

import gc
import types
import unittest

import numpy as np
import support
from support import CORA, CORA_DIGEST

import troupe

NODE_ARRAYS = ("ids", "original_ids", "features", "trees")
EDGE_ARRAYS = ("offsets", "sources", "edge_ids", "weights", "times", "features")


class DeviceBatches(support.Scratch):
    def collect(self, job, take, device_batches=True, **changes):
        """What `take` makes of the first epoch's batches, by number; without device_batches they are in host memory."""
        found = {}

        def train(session):
            for batch in session.epoch(0):
                found[batch.number if batch.seeds else -1 - session.rank] = take(session, batch)

        settings = {key.replace("__", "."): value for key, value in changes.items()}
        settings.setdefault("output", self.output() + ("-there" if device_batches else "-here"))
        troupe.run(train, job, set=settings, device_batches=device_batches)
        return found

    def expect_same(self, there, here, host):
        """\\param host  the array of the same batch in host memory, whose memory is another; None: it is not there"""
        if here is None:
            self.assertIsNone(there)
            return
        self.assertIsInstance(there, troupe.Array)
        self.assertEqual(there.dtype, here.dtype)
        np.testing.assert_array_equal(there, here)
        if host is not None and host.size:
            np.testing.assert_array_equal(host, here)
            self.assertFalse(np.shares_memory(there, host))

    def expect_batch(self, batch, here):
        """\\param here  the same batch of a run on CPUs"""
        there = batch.on_device
        self.assertIs(batch.on_device, there)
        self.assertRegex(there.device, "^emulated:[01]$")
        self.assertEqual((batch.device, there.on_device.device), ("cpu", there.device))
        for nodes, expected, host in zip(there.all_nodes, here.all_nodes, batch.all_nodes):
            for name in NODE_ARRAYS:
                self.expect_same(getattr(nodes, name), getattr(expected, name), getattr(host, name))
            self.assertIsNone(host.features, "features of nodes are on the device alone")
            np.testing.assert_array_equal(nodes.hop_end, expected.hop_end)
            self.assertEqual(sorted(nodes.columns), sorted(expected.columns))
            for name, column in nodes.columns.items():
                self.expect_same(column, expected.columns[name], host.columns[name])
        for edges, expected, host in zip(there.all_edges, here.all_edges, batch.all_edges):
            for name in EDGE_ARRAYS:
                self.expect_same(getattr(edges, name), getattr(expected, name), getattr(host, name))
            for name, column in edges.columns.items():
                self.expect_same(column, expected.columns[name], host.columns[name])
            np.testing.assert_array_equal(edges.index, expected.index)
            self.assertEqual(edges.per_hop, expected.per_hop)
        for name in ("seed_index", "labels", "targets"):
            self.expect_same(getattr(there, name), getattr(here, name), getattr(batch, name))

    def compare(self, job, **changes):
        here = self.collect(job, lambda _, batch: batch, device_batches=False, **changes)
        there = self.collect(job, lambda _, batch: batch, cluster__device="emulated:2", **changes)
        self.assertEqual(sorted(there), sorted(here))
        self.assertGreater(len(here), 1)
        for number, batch in there.items():
            self.expect_batch(batch, here[number])
        return there, here

    def test_arrays_are_those_of_a_cpu(self):
        there, here = self.compare(CORA)
        self.assertIn(-2, there, "a rank without a batch in the last step")
        for number, batch in there.items():
            for layer in range(2):
                block, expected = batch.on_device.block(layer, 2), here[number].block(layer, 2)
                self.assertEqual(block[:2], expected[:2])
                self.expect_same(block.offsets, expected.offsets, batch.block(layer, 2).offsets)
                self.expect_same(block.sources, expected.sources, batch.block(layer, 2).sources)

    def test_arrays_of_batches_that_the_device_samples(self):
        self.compare(CORA, cluster__hosts=1, partition__parts=1)

    def test_types_edge_data_and_columns(self):
        job, _ = support.write_toy(self.path("toy"))
        self.compare(job)

    def test_disjoint_batches(self):
        job, _ = support.write_toy(self.path("toy-disjoint"))
        self.compare(job, sample__disjoint=True)

    def test_links(self):
        store = self.path("links-store")
        job = support.write_links(store)
        there, here = self.compare(job, dataset__path=store, sample__batch_size=2048)
        for number, batch in there.items():
            for name in ("sources", "destinations", "negative_sources", "negative_destinations"):
                self.expect_same(
                    getattr(batch.on_device.links, name), getattr(here[number].links, name), getattr(batch.links, name)
                )

    def test_batches_are_in_host_memory_unless_the_program_takes_them_elsewhere(self):
        def take(session, batch):
            self.assertEqual(session.devices, [f"emulated:{session.rank}"])
            self.assertEqual(session.device, "cpu", "where PyTorch's tensors of its batches are")
            return batch.on_device, batch.device, batch.features is not None

        found = self.collect(CORA, take, device_batches=False, cluster__device="emulated:2")
        self.assertEqual(set(found.values()), {(None, "cpu", True)})

    def test_a_rank_without_a_device_has_them_in_host_memory(self):
        found = self.collect(CORA, lambda _, batch: (batch.on_device, batch.features is not None))
        self.assertEqual(set(found.values()), {(None, True)})

    def test_arrays_outlive_batch_session_and_run(self):
        def take(_, batch):
            x = batch.on_device.features
            return x, np.array(x), np.from_dlpack(batch.on_device.edges_of(0).sources[::2]), np.array(batch.edges_of(0).sources[::2])

        kept = self.collect(CORA, take, cluster__device="emulated:1")
        gc.collect()
        for x, copy, sources, copy_of_sources in kept.values():
            np.testing.assert_array_equal(x, copy)
            np.testing.assert_array_equal(sources, copy_of_sources)

    def test_the_digest_is_that_of_a_cpu(self):
        digests = []

        def train(session):
            for e in range(session.epochs):
                for batch in session.epoch(e):
                    if batch.seeds:
                        self.assertEqual(batch.on_device.features.shape, (len(batch.nodes), 1433))
            digests.append(session.digest)

        settings = {"output": self.output(), "cluster.device": "emulated:1"}
        troupe.run(train, CORA, set=settings, device_batches=True)
        self.assertEqual(digests, [CORA_DIGEST] * 2)

    def test_vectors_in_the_memory_of_devices_are_summed_there(self):
        given, sums = {}, {}

        class There:
            """What PyTorch's tensors and CuPy's arrays say of themselves, of the memory of a batch on an emulated device."""

            def __init__(self, array, **other):
                facts = {"typestr": "<f4", "shape": (10, 10), "data": (array.ctypes.data, False), "version": 3}
                self.__cuda_array_interface__ = {**facts, **other}

        def train(session):
            for batch in session.epoch(0):
                if batch.number >= session.world:
                    continue
                x = batch.on_device.features
                given[session.rank] = np.array(x.reshape(-1)[:100])
                self.assertIsNone(session.all_reduce(There(x)))
                sums[session.rank] = np.array(x.reshape(-1)[:100])
                self.assertEqual(session.all_reduce_mean(There(x), 1 + session.rank), 3)
                np.testing.assert_array_equal(x.reshape(-1)[:100], np.float32(2) * sums[session.rank] / np.float32(3))
                for other, text in (
                    ({"typestr": "<f8"}, "expected an array of float32"),
                    ({"strides": (8, 4)}, "without gaps"),
                    ({"data": (x.ctypes.data, True)}, "that can be written"),
                ):
                    with self.assertRaisesRegex(TypeError, text):
                        session.all_reduce(There(x, **other))

        settings = {"cluster.device": "emulated:1", "output": self.output(), "digest": "off"}
        troupe.run(train, CORA, set=settings, device_batches=True)
        np.testing.assert_array_equal(sums[0], given[0] + given[1])
        np.testing.assert_array_equal(sums[1], sums[0])

    def test_memory_of_the_host_is_not_a_devices(self):
        here = np.zeros(4, np.float32)
        facts = {"typestr": "<f4", "shape": (4,), "data": (here.ctypes.data, False), "version": 3}

        def train(session):
            values = types.SimpleNamespace(__cuda_array_interface__=facts)
            with self.assertRaisesRegex(troupe.Error, "which is the host's") as raised:
                session.all_reduce(values)
            self.assertEqual(raised.exception.code, "invalid_argument")
            raise raised.exception

        with self.assertRaises(SystemExit) as ended:
            troupe.run(train, CORA, set={"cluster.device": "emulated:1", "output": self.output()})
        self.assertEqual(ended.exception.code, 2)


class DeviceArrays(unittest.TestCase):
    """What arrays on a GPU say of themselves; torch_device_test.py has real ones."""

    def test_facts_and_refusals(self):
        array = troupe.DeviceArray(types.SimpleNamespace(shape=[5, 3], format="f", cuda=1))
        self.assertEqual((array.shape, array.dtype, array.device, len(array)), ((5, 3), np.float32, "cuda:1", 5))
        self.assertEqual(array.__dlpack_device__(), (2, 1))
        self.assertEqual(repr(array), "DeviceArray(shape=(5, 3), dtype=float32, device='cuda:1')")
        for refused in ({"copy": True}, {"dl_device": (1, 0)}):
            with self.assertRaisesRegex(BufferError, "expected to share memory of cuda:1"):
                array.__dlpack__(**refused)
        words = troupe.DeviceArray(types.SimpleNamespace(shape=[2], format="H", cuda=0), is_bfloat16=True)
        self.assertEqual(repr(words), "DeviceArray(shape=(2,), dtype=bfloat16, device='cuda:0')")


if __name__ == "__main__":
    unittest.main()
