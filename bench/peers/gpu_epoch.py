#!/usr/bin/env python3
"""Epochs of PyG on a GPU: GraphSAGE of three layers of 256, mean, Adam, float32 without TF32, through NeighborLoader.

    troupe generate rmat STORE --nodes 2449029 --edges 123718280 --features 100 --classes 47 --train 65536 --labels random
    gpu_epoch.py --store STORE --out FILE --products      with a Python that has torch, torch_geometric, pyg_lib and NumPy

Neighbors are those of in-lists. Feature rows are in the device's memory, where each batch gathers its own ("device"), or in
the host's, from where NeighborLoader brings them ("host"). Of each setting: seconds of the second and the third epoch (each
ends when the device has its last loss), then of an epoch of the loader alone. Losses are read once an epoch.
Layers see the edges of the hops that they need, trimmed by hand; PyG takes them in several forms, and epochs use the one
whose step is the fastest: a CSR matrix as in train.py ("csr"; it sorts, and keeps one of parallel edges), the same without
the sort, which sampled edges do not need ("sorted csr"), lists of edges ("edges"), and PyG's trim_to_layer as documented
("documented"). A step includes making them.
The file is rewritten after each measurement, so that it has what was measured if the program is ended early.
"""

import argparse
import copy
import gc
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time

import common

FORMS = ["sorted csr", "csr", "edges", "documented"]
STEPS = 20  # of the model alone, after WARM
WARM = 3
PRODUCT = [1 << 20, 256, 256]
COPY = 1 << 30
STARTED = time.perf_counter()


def passed():
    return time.perf_counter() - STARTED


def read_store(folder):
    """The arrays of a graph store with one type of nodes and of edges (docs/store.md), as tensors."""
    import numpy
    import torch

    with open(os.path.join(folder, "graph.json")) as file:
        about = json.load(file)
    if len(about["node_types"]) != 1 or len(about["edge_types"]) != 1:
        raise SystemExit(f"gpu_epoch.py: {folder}: expected one type of nodes and one of edges")
    node, edge = about["node_types"][0], about["edge_types"][0]
    if node["features"]["dtype"] != "f32":
        raise SystemExit(f"gpu_epoch.py: {folder}: expected features in f32, found {node['features']['dtype']}")

    def array(*names):
        return numpy.load(os.path.join(folder, *names))

    def signed(values):
        return torch.from_numpy(values.view(numpy.int64) if values.itemsize == 8 else values.astype(numpy.int64))

    nodes, lists = "nodes-" + node["name"], "edges-" + edge["name"]
    return {
        "nodes": node["count"],
        "indptr": signed(array(lists, "in", "offsets.npy")),
        "indices": signed(array(lists, "in", "neighbours.npy")),
        "x": torch.from_numpy(array(nodes, "features.npy")),
        "y": torch.from_numpy(array(nodes, "labels.npy")),
        "train": signed(array("splits", "default.train.npy")),
        "classes": node["labels"]["classes"],
    }


class Out:
    """The result: a JSON object, in the file after each change."""

    def __init__(self, path):
        self.path = path
        self.fields = {}

    def put(self, **fields):
        self.fields.update(**fields, total_seconds=round(passed(), 1))
        if self.path:
            with open(self.path + ".part", "w") as file:
                json.dump(self.fields, file, indent=1)
                file.write("\n")
            os.replace(self.path + ".part", self.path)

    @staticmethod
    def say(*words):
        print(f"{passed():6.1f} s:", *words, file=sys.stderr, flush=True)


class Device:
    """Where the model is: a GPU, or the processor to try the script."""

    def __init__(self, torch, kind):
        self.torch = torch
        self.kind = kind
        self.cuda = kind == "cuda"
        self.device = torch.device("cuda", 0) if self.cuda else torch.device("cpu")

    def wait(self):
        if self.cuda:
            self.torch.cuda.synchronize()

    def about(self):
        if not self.cuda:
            return {"name": platform.processor() or platform.machine()}
        about = {"name": self.torch.cuda.get_device_name(0)}
        if shutil.which("nvidia-smi"):
            query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
            about["driver"] = subprocess.run(query, capture_output=True, text=True).stdout.strip()
        return about

    def times(self, work, warm, steps):
        """Milliseconds of each step, with a wait after each."""
        found = []
        for step in range(warm + steps):
            began = time.perf_counter()
            work(step)
            self.wait()
            found.append(1e3 * (time.perf_counter() - began))
        return found[warm:]


class Model:
    def __init__(self, torch, device, form, sizes):
        from torch_geometric.nn import SAGEConv

        torch.manual_seed(0)
        self.torch = torch
        self.form = form
        self.layers = torch.nn.ModuleList(SAGEConv(sizes[i], sizes[i + 1]) for i in range(3)).to(device.device)
        self.optimizer = torch.optim.Adam(self.layers.parameters(), lr=1e-3)

    def step(self, batch, x, y):
        """One step of training. Returns the loss, which is on the device."""
        out = self._documented(batch, x) if self.form == "documented" else self._trimmed(batch, x)
        loss = self.torch.nn.functional.cross_entropy(out, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def _trimmed(self, batch, x):
        from torch_geometric.utils import to_torch_csr_tensor

        for i, layer in enumerate(self.layers):
            hops = 3 - i
            sources = sum(batch.num_sampled_nodes[: hops + 1])
            targets = sum(batch.num_sampled_nodes[:hops])
            edges = batch.edge_index[:, : sum(batch.num_sampled_edges[:hops])]
            if self.form != "edges":  # edges come in order of their targets
                edges = to_torch_csr_tensor(edges.flip(0), size=(targets, sources), is_coalesced=self.form == "sorted csr")
            x = layer((x, x[:targets]), edges)
            x = x.relu() if i < 2 else x
        return x

    def _documented(self, batch, x):
        from torch_geometric.utils import trim_to_layer

        edges = batch.edge_index
        for i, layer in enumerate(self.layers):
            x, edges, _ = trim_to_layer(i, batch.num_sampled_nodes, batch.num_sampled_edges, x, edges)
            x = layer(x, edges)
            x = x.relu() if i < 2 else x
        return x[: batch.batch_size]


class Bench:
    def __init__(self, torch, device, graph, batches, out):
        self.torch = torch
        self.device = device
        self.out = out
        self.graph = graph
        self.sizes = [graph["x"].shape[1]] + common.LAYER_SIZES[1:-1] + [graph["classes"]]
        self.rows = graph["x"].to(device.device)
        self.labels = graph["y"].to(device.device)
        self.seeds = common.shuffled_seeds(graph["train"], batches)
        self.form = None
        self._make_sampler()

    def _make_sampler(self):
        from torch_geometric.data import Data
        from torch_geometric.sampler import NeighborSampler

        torch, graph = self.torch, self.graph
        columns = torch.repeat_interleave(torch.arange(graph["nodes"]), graph["indptr"].diff())
        edges = torch.stack([graph.pop("indices"), columns])
        self.data = Data(edge_index=edges, num_nodes=graph["nodes"])
        self.sampler = NeighborSampler(self.data, common.FANOUT, is_sorted=True)  # workers inherit its arrays
        if not torch.equal(self.sampler.colptr, graph["indptr"]):
            raise SystemExit("gpu_epoch.py: the sampler's lists are not those of the store")

    def loader(self, features, workers, seeds):
        from torch_geometric.loader import NeighborLoader

        data = self.data
        if features == "host":
            data = copy.copy(data)
            data.x = self.graph["x"]
            data.y = self.graph["y"]
        more = {"persistent_workers": True, "timeout": 60} if workers else {}
        return NeighborLoader(
            data,
            common.FANOUT,
            input_nodes=seeds,
            neighbor_sampler=self.sampler,
            batch_size=common.BATCH,
            shuffle=False,
            num_workers=workers,
            pin_memory=self.device.cuda,
            **more,
        )

    def inputs(self, batch, features):
        """What a step takes, on the device."""
        if features == "host":
            batch = batch.to(self.device.device, "x", "y", "edge_index", non_blocking=True)
            return batch, batch.x, batch.y[: batch.batch_size]
        batch = batch.to(self.device.device, "n_id", "edge_index", non_blocking=True)
        return batch, self.rows.index_select(0, batch.n_id), self.labels.index_select(0, batch.n_id[: batch.batch_size])

    # ---- model alone ----

    def model_alone(self):
        """Times of a step in each form; the fastest becomes that of the epochs."""
        seeds = common.shuffled_seeds(self.graph["train"], WARM + STEPS)
        made = [self.inputs(batch, "device") for batch in self.loader("device", 0, seeds)]
        gather = self.device.times(lambda i: self.rows.index_select(0, made[i][0].n_id), WARM, STEPS)
        found = {}
        for form in FORMS:
            model = Model(self.torch, self.device, form, self.sizes)
            try:
                losses = []
                times = self.device.times(lambda i: losses.append(model.step(*made[i])), WARM, STEPS)
            except RuntimeError as error:
                found[form] = {"failed": str(error).splitlines()[0]}
                continue
            found[form] = {
                "ms_per_step": round(statistics.median(times), 2),
                "least": round(min(times), 2),
                "most": round(max(times), 2),
                "first_loss": round(losses[0].item(), 4),
                "last_loss": round(losses[-1].item(), 4),
            }
            self.out.say("step,", form, found[form])
        working = [form for form in FORMS if "ms_per_step" in found[form]]
        if not working:
            raise SystemExit("gpu_epoch.py: no form of the layers works: " + json.dumps(found))
        self.form = min(working, key=lambda form: found[form]["ms_per_step"])
        self.out.put(
            model_alone=found,
            form_of_epochs=self.form,
            gather_ms_per_batch=round(statistics.median(gather), 3),
            model_edges_per_batch=round(statistics.mean(batch.edge_index.shape[1] for batch, _, _ in made)),
        )

    # ---- epochs ----

    def epochs(self, features, workers, limit):
        """One setting: three epochs of training, then one of the loader alone; the third is left out where time is up."""
        loader = self.loader(features, workers, self.seeds)
        try:
            trained = self._train(loader, features, limit)
            return {"features": features, "workers": workers, "batches": len(loader), **trained, **self._loader_alone(loader)}
        finally:
            loader._iterator = None  # ends the workers; left to the collector, each would be waited for five seconds

    def _train(self, loader, features, limit):
        model = Model(self.torch, self.device, self.form, self.sizes)
        seconds = []
        for epoch in range(3):
            if epoch == 2 and passed() > limit:
                break
            began = time.perf_counter()
            total = self.torch.zeros((), device=self.device.device)
            for batch in loader:
                total += model.step(*self.inputs(batch, features))
            loss = total.item() / len(loader)  # waits for the device
            seconds.append(time.perf_counter() - began)
        least = min(seconds[1:])
        return {
            "seconds_per_epoch": round(least, 3),
            "ms_per_batch": round(1e3 * least / len(loader), 2),
            "epoch_seconds": [round(each, 3) for each in seconds],
            "loss": round(loss, 4),
        }

    @staticmethod
    def _loader_alone(loader):
        edges = rows = 0
        began = time.perf_counter()
        for batch in loader:
            edges += batch.edge_index.shape[1]
            rows += batch.n_id.numel()
        seconds = time.perf_counter() - began
        return {
            "loader_ms_per_batch": round(1e3 * seconds / len(loader), 2),
            "edges_per_batch": round(edges / len(loader)),
            "rows_per_batch": round(rows / len(loader)),
        }

    def all_epochs(self, settings, limit):
        results = []
        for features, workers in settings:
            if passed() > limit:
                results.append({"features": features, "workers": workers, "skipped": "time is up"})
            else:
                try:
                    results.append(self.epochs(features, workers, limit))
                except (RuntimeError, OSError) as error:
                    results.append({"features": features, "workers": workers, "failed": str(error).splitlines()[0]})
                gc.collect()
            self.out.say(results[-1])
            self.out.put(settings=results)


def products(torch, device):
    """Rates of a product of matrices and of a copy on the device, as references."""
    repeats = 20 if device.cuda else 2
    rows, inner, columns = PRODUCT
    generator = torch.Generator(device=device.device).manual_seed(0)
    left = torch.randn(rows, inner, device=device.device, generator=generator)
    right = torch.randn(inner, columns, device=device.device, generator=generator)
    out = torch.empty(rows, columns, device=device.device)
    product = min(device.times(lambda _: torch.mm(left, right, out=out), WARM, repeats))
    exact = left[:4096].double() @ right.double()
    error = ((out[:4096] - exact).abs().max() / exact.abs().max()).item()
    del left, right, out, exact
    source = torch.ones(COPY, dtype=torch.uint8, device=device.device)
    target = torch.empty_like(source)
    copied = min(device.times(lambda _: target.copy_(source), WARM, repeats))
    return {
        "product": PRODUCT,
        "product_ms": round(product, 3),
        "product_tflops": round(2 * rows * inner * columns / product / 1e9, 2),
        "product_error": float(f"{error:.2g}"),  # about 1e-3 would be TF32
        "copy_bytes": COPY,
        "copy_ms": round(copied, 3),
        "copy_gb_per_s": round(COPY / copied / 1e6, 1),
        "copy_read_and_written_gb_per_s": round(2 * COPY / copied / 1e6, 1),
    }


def numbers(text):
    return [int(word) for word in text.split(",") if word]


def settings(device_workers, host_workers):
    """The first of each, then the others: what matters most comes first."""
    with_device = [("device", workers) for workers in device_workers]
    with_host = [("host", workers) for workers in host_workers]
    return with_device[:1] + with_host[:1] + with_device[1:] + with_host[1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", required=True, help="graph store of `troupe generate rmat`")
    parser.add_argument("--out", default="", help="the result file, replaced")
    parser.add_argument("--batches", type=int, default=64, help="of an epoch")
    parser.add_argument("--workers", type=numbers, default=[14, 0, 8, 4], help="with rows on the device, comma-separated")
    parser.add_argument("--host-workers", type=numbers, default=[14, 0], help="with rows in the host's memory")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to try the script")
    parser.add_argument("--seconds", type=float, default=75, help="since the start, after which no setting and no third epoch begins")
    parser.add_argument("--products", action="store_true", help="rates of a product and of a copy, too")
    options = parser.parse_args()

    import numpy
    import torch
    import torch_geometric
    import torch_geometric.typing

    if not torch_geometric.typing.WITH_PYG_LIB:
        raise SystemExit("gpu_epoch.py: the loader needs pyg_lib, which cannot be imported")
    import pyg_lib

    if options.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("gpu_epoch.py: expected a CUDA device, found none")
    torch.set_float32_matmul_precision("highest")  # float32 without TF32
    device = Device(torch, options.device)
    out = Out(options.out)
    out.put(
        system="pyg",
        versions={
            "python": platform.python_version(),
            "torch": torch.__version__,
            "cuda": torch.version.cuda if device.cuda else None,
            "torch_geometric": torch_geometric.__version__,
            "pyg_lib": pyg_lib.__version__,
            "numpy": numpy.__version__,
        },
        device=device.about(),
        cores=len(os.sched_getaffinity(0)),
        threads=torch.get_num_threads(),
        precision={"float32_matmul": torch.get_float32_matmul_precision(), "tf32": torch.backends.cuda.matmul.allow_tf32},
        fanout=common.FANOUT,
        batch_size=common.BATCH,
        imports_seconds=round(passed(), 1),
    )
    out.say(out.fields)
    if options.products:
        out.put(products=products(torch, device))
        out.say(out.fields["products"])
        if device.cuda:
            torch.cuda.empty_cache()
    graph = read_store(options.store)
    out.put(nodes=graph["nodes"], edges=len(graph["indices"]), seeds=len(graph["train"]), read_seconds=round(passed(), 1))
    bench = Bench(torch, device, graph, options.batches, out)
    out.put(sizes=bench.sizes, ready_seconds=round(passed(), 1))
    out.say("graph is ready")
    bench.model_alone()
    bench.all_epochs(settings(options.workers, options.host_workers), options.seconds)
    if device.cuda:
        out.put(peak_device_gib=round(torch.cuda.max_memory_allocated() / 2**30, 2))
    out.put(peak_gib=common.peak_gib())
    common.print_result(**out.fields)


if __name__ == "__main__":
    main()
