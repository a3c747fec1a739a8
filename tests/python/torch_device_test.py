"""PyTorch on batches in the memory of devices: emulated ones, and a GPU where PyTorch and the module can use one."""

import gc
import os
import unittest

import numpy as np
import support
from support import CORA, CORA_DIGEST

import troupe

try:
    import torch
    import torch_geometric  # noqa: F401
except ImportError as error:
    torch = None
    WHY = f"{error} (a Python with PyTorch and PyG: -DTROUPE_TORCH_PYTHON=…)"

GPU = torch is not None and torch.cuda.is_available()


class LeftOut(unittest.TestCase):
    def test_torch(self):
        if torch is None:
            self.skipTest(WHY)

    def test_gpu(self):
        if not GPU:
            self.skipTest("PyTorch has no CUDA device")


def tensors_of(data):
    """By store and name: everything of Data or HeteroData."""
    found = {}
    for store in data.stores:
        for name, value in store.items():
            found[(getattr(store, "_key", None), name)] = value
    return found


class OnEmulatedDevice(support.Scratch):
    DEVICE = "emulated:1"
    TENSORS = "cpu"  # where tensors of its batches are

    def collect(self, job, take, device=None, **changes):
        found = {}

        def train(session):
            for batch in session.epoch(0):
                if batch.seeds:
                    found[batch.number] = take(session, batch)

        settings = {key.replace("__", "."): value for key, value in changes.items()}
        settings["cluster.device"] = device or self.DEVICE
        settings["output"] = f"{self.output()}-{device or 'there'}-{len(os.listdir(self.folder))}"
        troupe.run(train, job, set=settings, device_batches=True)
        self.assertGreater(len(found), 0)
        return found

    def expect_same(self, there, here):
        self.assertEqual(type(there), type(here))
        self.assertTrue(there.validate())
        found, expected = tensors_of(there), tensors_of(here)
        self.assertEqual(sorted(map(str, found)), sorted(map(str, expected)))
        for key, value in expected.items():
            if isinstance(value, torch.Tensor):
                self.assertEqual(found[key].device.type, self.TENSORS, key)
                self.assertEqual(found[key].dtype, value.dtype, key)
                self.assertTrue(torch.equal(found[key].cpu(), value), key)
            else:
                self.assertEqual(found[key], value, key)

    def compare(self, job, **changes):
        def make(_, batch):
            return batch.to_pyg()

        here = self.collect(job, make, device="cpu", **changes)
        there = self.collect(job, make, **changes)
        self.assertEqual(sorted(there), sorted(here))
        for number, data in there.items():
            self.expect_same(data, here[number])

    def test_data_is_that_of_a_cpu(self):
        self.compare(CORA)

    def test_data_of_batches_that_the_device_samples(self):
        self.compare(CORA, cluster__hosts=1, partition__parts=1)

    def test_hetero_data_with_columns(self):
        job, _ = support.write_toy(self.path("toy"))
        self.compare(job)

    def test_disjoint_and_induced_batches(self):
        self.compare(CORA, sample__disjoint=True)
        self.compare(CORA, sample__subgraph="induced")

    def test_links(self):
        store = self.path("links-store")
        job = support.write_links(store)
        self.compare(job, dataset__path=store, sample__batch_size=2048)

    def test_gradients_have_the_bits_of_host_memory(self):
        found = {}

        def train(session):
            def reduced(device):
                rng = np.random.default_rng(session.rank)
                parameters = []
                for size in (3, 500, 17):
                    parameter = torch.nn.Parameter(torch.zeros(size, device=device))
                    parameter.grad = torch.from_numpy(rng.standard_normal(size, np.float32)).to(device)
                    parameters.append(parameter)
                total = session.all_reduce_gradients(parameters, seeds=3 + session.rank)
                return total, [p.grad.cpu() for p in parameters], {p.grad.device.type for p in parameters}

            for turn in range(5):  # the first ones go over the links
                total, here, _ = reduced("cpu")
                total_there, there, kinds = reduced(session.device)
                self.assertEqual((total, total_there), (7, 7))
                self.assertEqual(kinds, {self.TENSORS})
                for a, b in zip(here, there):
                    self.assertTrue(torch.equal(a, b), turn)
            vector = torch.arange(10.0, device=session.device) + session.rank
            session.all_reduce(vector if self.TENSORS == "cuda" else vector.numpy())
            found[session.rank] = vector.cpu()

        settings = {"cluster.device": self.DEVICE, "output": self.output()}
        troupe.run(train, CORA, set=settings, device_batches=True)
        for vector in found.values():
            self.assertTrue(torch.equal(vector, 2 * torch.arange(10.0) + 1))

    def test_the_digest_is_that_of_a_cpu(self):
        digests, losses = [], []

        def train(session):
            with troupe.seeded(session.seed):
                model = torch.nn.Linear(session.columns, session.classes).to(session.device)
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
            for e in range(session.epochs):
                for batch in session.epoch(e):
                    data = batch.to_pyg()
                    optimizer.zero_grad()
                    loss = torch.nn.functional.cross_entropy(model(data.x[data.seed_index]), data.y, reduction="sum")
                    loss.backward()
                    session.all_reduce_gradients(model, of_sum=True)
                    optimizer.step()
                    session.end_step()
                    losses.append(float(loss.detach()))
            digests.append(session.digest)

        settings = {"cluster.device": self.DEVICE, "output": self.output()}
        troupe.run(train, CORA, set=settings, device_batches=True)
        self.assertEqual(digests, [CORA_DIGEST] * 2)
        self.assertLess(sum(losses[-6:]), 0.8 * sum(losses[:6]))


class OnGpu(OnEmulatedDevice):
    DEVICE = "cuda:0"
    TENSORS = "cuda"

    def test_arrays_say_what_they_are(self):
        job, _ = support.write_toy(self.path("toy-arrays"))

        def take(session, batch):
            there = batch.on_device
            self.assertEqual((session.device, there.device), ("cuda:0", "cuda:0"))
            users = there.nodes_of("user")
            self.assertIsInstance(users.features, troupe.DeviceArray)
            self.assertEqual(users.features.shape, (len(users), 6))
            self.assertEqual((users.features.dtype, users.features.device), (np.float32, "cuda:0"))
            self.assertEqual(users.features.__dlpack_device__(), (2, 0))
            self.assertEqual(torch.from_dlpack(users.columns["brain"]).dtype, torch.bfloat16)
            self.assertIsInstance(users.hop_end, troupe.Array)
            with self.assertRaisesRegex(BufferError, "expected to share memory of cuda:0"):
                users.features.__dlpack__(copy=True)
            with self.assertRaisesRegex(BufferError, "memory of a CUDA device"):
                memoryview(users.features._values)
            return True

        self.collect(job, take)

    def test_memory_stays_until_the_work_that_reads_it_is_done(self):
        """Kernels that wait behind others read tensors that are gone, while later batches are made."""
        here = self.collect(CORA, lambda _, batch: batch.to_pyg().x, device="cpu")
        stream = torch.cuda.Stream()

        def take(_, batch):
            with torch.cuda.stream(stream):
                x = batch.to_pyg().x
                torch.cuda._sleep(20_000_000)  # some 10 ms
                return x * 2

        found = self.collect(CORA, take)
        gc.collect()
        stream.synchronize()
        for number, doubled in found.items():
            self.assertTrue(torch.equal(doubled.cpu(), here[number] * 2))

    def test_memory_of_dropped_batches_returns(self):
        def train(session):
            for e in range(session.epochs):
                for batch in session.epoch(e):
                    if batch.seeds:
                        batch.to_pyg()
                        batch.on_device.features.__dlpack__(stream=1)  # nobody takes it
                if e == 9:
                    free.append(torch.cuda.mem_get_info()[0])
            free.append(torch.cuda.mem_get_info()[0])

        free = []
        settings = {"cluster.device": self.DEVICE, "output": self.output(), "train.epochs": 100, "cluster.hosts": 1}
        troupe.run(train, CORA, set=settings, device_batches=True)
        self.assertLess(free[0] - free[-1], 300e6, "450 batches of 2 MB")

    def test_tensors_outlive_the_run(self):
        def take(_, batch):
            data = batch.to_pyg()
            return data.x, data.x.clone(), data.edge_index, data.edge_index.clone()

        kept = self.collect(CORA, take)
        gc.collect()
        for x, copy, index, copy_of_index in kept.values():
            self.assertTrue(torch.equal(x, copy))
            self.assertTrue(torch.equal(index, copy_of_index))

    def test_seeded_draws_the_same_numbers_on_the_device(self):
        def draw():
            with troupe.seeded(1, 2):
                return torch.rand(5, device="cuda:0")

        torch.rand(1, device="cuda:0")
        first = draw()
        torch.manual_seed(7)
        between = torch.rand(5, device="cuda:0")
        torch.manual_seed(7)
        self.assertTrue(torch.equal(draw(), first))
        self.assertTrue(torch.equal(torch.rand(5, device="cuda:0"), between), "the generator is put back")

    def test_vectors_that_cannot_be_summed_are_refused(self):
        def train(session):
            for values in (
                torch.zeros(4, device="cuda:0", dtype=torch.float64),
                torch.zeros(4, 4, device="cuda:0")[:, 1],
            ):
                with self.assertRaisesRegex(TypeError, "expected an array of float32, without gaps"):
                    session.all_reduce(values)
            session.barrier()

        troupe.run(train, CORA, set={"cluster.device": self.DEVICE, "output": self.output()}, device_batches=True)


if torch is None:
    del OnEmulatedDevice, OnGpu
elif not GPU:
    del OnGpu

if __name__ == "__main__":
    unittest.main()
