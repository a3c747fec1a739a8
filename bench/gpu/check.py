"""What bench/gpu_check.sh does: checks of a device, or measurements on it. One JSON file and one Markdown table."""

import argparse
import array
import ast
import datetime
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


# ogbn-papers100M has 111 M nodes, 1.6 G edges, 128 columns, 172 classes and so many training seeds.
PAPERS_SEEDS = 1207179
QUARTER_OF_PAPERS = (27764990, 403957024, 128, 172, 301794)
# What MLPerf's R-GAT on IGBH-full reaches on each H200, in seeds a second.
MLPERF_RGAT = 23000


class NotRun(Exception):
    """A check that cannot be run here; the text says why."""


class Missed(Exception):
    """A measurement that is short of its aim; the text has both."""


class Failed(Exception):
    """A check that did not hold; the text says what was expected and found."""

    def __init__(self, text, output=""):
        super().__init__(text)
        self.output = output  # of the program that failed


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else "no output"


def programs(build):
    """Paths of the programs and of the Python package's folder: of a bundle, else of a build folder."""
    if os.path.isdir(os.path.join(ROOT, "bin")):
        of_bundle = {name: os.path.join(ROOT, "bin", name) for name in ("troupe", "gpu_tests", "troupe_gpu_stages")}
        return {**of_bundle, "python": os.path.join(ROOT, "python")}
    return {
        "python": os.path.join(build, "python"),
        "troupe": os.path.join(build, "launcher", "troupe"),
        "gpu_tests": os.path.join(build, "tests", "gpu", "gpu_tests"),
        "troupe_gpu_stages": os.path.join(build, "bench", "troupe_gpu_stages"),
    }


def numbers_of(path):
    """Values of a file of float32 in NumPy's format."""
    with open(path, "rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise Failed(f"{path}: expected a file in NumPy's format")
        wide = file.read(2)[0] > 1
        header = file.read(int.from_bytes(file.read(4 if wide else 2), "little")).decode("latin1")
        if ast.literal_eval(header.strip())["descr"] != "<f4":
            raise Failed(f"{path}: expected float32, found {header.strip()}")
        values = array.array("f")
        values.frombytes(file.read())
        return values


def cublas_folder():
    """Where cuBLAS of CUDA 13 lies in this Python's packages or in build/cuda; empty: left to the loader."""
    found = [os.path.join(ROOT, "build", "cuda", "nvidia", "cu13", "lib")]
    found += [os.path.join(path, "nvidia", "cu13", "lib") for path in sys.path if path]
    found += ["/usr/local/cuda/lib64"]
    return next((folder for folder in found if os.path.exists(os.path.join(folder, "libcublas.so.13"))), "")


class Bench:
    def __init__(self, arguments, work):
        self.arguments = arguments
        self.device = arguments.device
        self.emulated = arguments.device.startswith("emulated")
        self.work = work
        self.programs = programs(arguments.build)
        self.environment = dict(os.environ)
        self.cublas = cublas_folder()
        if self.cublas:
            before = self.environment.get("LD_LIBRARY_PATH")
            self.environment["LD_LIBRARY_PATH"] = self.cublas + (":" + before if before else "")
        self.items = []

    def about(self):
        """Device, driver, program, date."""
        about = {"date": datetime.date.today().isoformat(), "device": self.device}
        about["troupe"] = last_line(self.output([self.programs["troupe"], "--version"], 30))
        note = os.path.join(ROOT, "about.json")
        if os.path.exists(note):
            with open(note) as file:
                about.update(json.load(file))
        if shutil.which("nvidia-smi"):
            query = "--query-gpu=name,driver_version,memory.total,compute_cap"
            about["gpu"] = self.output(["nvidia-smi", query, "--format=csv,noheader"], 30).strip().splitlines()
        return about

    def output(self, command, limit, **more):
        """Standard output and error of a command.

        Raises Failed for an exit code other than 0 and when `limit` seconds are over.
        """
        child = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=dict(self.environment, **more),
            cwd=ROOT,
            start_new_session=True,
        )
        try:
            text, _ = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            raise Failed(f"{os.path.basename(command[0])}: not done in {limit} s")
        if child.returncode != 0:
            raise Failed(f"{os.path.basename(command[0])}: exit code {child.returncode}: {last_line(text)}", text)
        return text

    def item(self, name, check):
        """Runs a check and keeps its outcome; `check` returns a detail."""
        began = time.time()
        try:
            outcome, detail = "passed", check()
        except NotRun as reason:
            outcome, detail = "not run", str(reason)
        except Missed as reason:
            outcome, detail = "aim missed", str(reason)
        except Failed as reason:
            outcome, detail = "failed", str(reason)
            self.keep(name, reason.output)
        self.items.append({"name": name, "outcome": outcome, "seconds": round(time.time() - began, 1), "detail": detail})
        print(f"{outcome}: {name}: {detail}", flush=True)

    def keep(self, name, text):
        """The end of what a failed program printed, beside the results."""
        if text:
            with open(os.path.join(self.arguments.out, re.sub(r"\W+", "_", name) + ".log"), "w") as file:
                file.write(text[-1_000_000:])

    # Runs of jobs.

    def command(self, job, name, device, settings):
        """A run whose output is WORK/NAME."""
        words = [self.programs["troupe"], "run", job]
        for setting in [f"output={os.path.join(self.work, name)}", f"cluster.device={device}"] + settings:
            words += ["--set", setting]
        return words

    def report(self, name):
        with open(os.path.join(self.work, name, "report.json")) as file:
            return json.load(file)

    def run(self, job, name, device, settings=()):
        self.output(self.command(job, name, device, list(settings)), 120)
        return self.report(name)

    def expect_equal(self, which, expected, found, what):
        a, b = expected["digests"][which], found["digests"][which]
        if a is None or a != b:
            raise Failed(f"{what}: expected {which} {a}, found {b}")

    def models(self):
        """Jobs by name: a file and settings."""
        quickstart = os.path.join(ROOT, "examples", "quickstart.json")
        store = os.path.join(self.work, "heterogeneous")
        self.output([self.programs["troupe"], "generate", "heterogeneous", store, "--nodes", "3000"], 60)
        job = os.path.join(self.work, "heterogeneous.json")
        with open(job, "w") as file:
            json.dump(
                {
                    "dataset": {"path": store},
                    "cluster": {"hosts": 2},
                    "sample": {"fanout": [5, 5], "batch_size": 64},
                    "model": {"kind": "graphsage", "layers": 2, "hidden": 32, "dropout": 0.5},
                    "train": {"epochs": 3},
                    "seed": 1,
                },
                file,
            )
        links = ["task.kind=unsupervised", "task.negatives.kind=triplet", "sample.batch_size=256", "train.epochs=2"]
        links += ["model.dropout=0", "model.input_dropout=0", "eval.mode=sampled", "eval.metric=auc"]
        steep = ["train.optimizer.lr=0.05", "train.optimizer.weight_decay=0"]
        return {
            "GraphSAGE": (quickstart, ["train.epochs=5"]),
            "GAT": (quickstart, ["train.epochs=3", "model.kind=gat", "model.heads=4", "model.hidden=32"]),
            "heterogeneous": (job, []),
            "R-GAT": (job, ["model.kind=rgat", "model.heads=4", "model.dropout=0"]),
            "HGT": (job, ["model.kind=hgt", "model.heads=4", "model.dropout=0", "model.input=linear"]),
            "links": (quickstart, links + ["task.decoder.kind=distmult", "train.loss=bce"] + steep),
            "links by perceptron": (quickstart, links + ["task.decoder.kind=mlp", "train.loss=softmax"]),
            "triples by products": (self.triples(), ["train.epochs=10"]),
            "triples by distances": (self.triples(), ["train.epochs=10", "task.score.kind=rotate", "train.margin=3"]),
        }

    def triples(self):
        """A job of a small knowledge graph."""
        job = os.path.join(self.work, "family.json")
        if not os.path.exists(job):
            store = os.path.join(self.work, "store")  # as the job names it
            words = [self.programs["troupe"], "import", "--from", "triples", "--relations", "one"]
            self.output(words + [os.path.join(ROOT, "examples", "knowledge", "family"), store], 60)
            shutil.copy(os.path.join(ROOT, "examples", "knowledge", "family.json"), job)
        return job

    def runs_of_model(self, name, job, settings):
        on_cpu = self.run(job, f"{name}-cpu", "cpu", settings)
        one = self.run(job, f"{name}-1", self.device, settings)
        again = self.run(job, f"{name}-2", self.device, settings)
        self.expect_equal("batches", on_cpu, one, "the CPU against the device")
        for which in ("parameters", "outputs"):
            self.expect_equal(which, one, again, "two equal runs")
            if self.emulated:
                self.expect_equal(which, on_cpu, one, "the CPU against the emulated device")
        losses = [report["epochs"][-1]["loss"] for report in (on_cpu, one)]
        if not abs(losses[0] - losses[1]) <= 0.02 * abs(losses[0]):
            raise Failed(f"loss of the last epoch: expected about {losses[0]}, found {losses[1]}")
        return f"batches {one['digests']['batches']}, parameters {one['digests']['parameters']}, loss {losses[0]:.5f} and {losses[1]:.5f}"

    def ranks(self):
        job = os.path.join(ROOT, "examples", "quickstart.json")
        apart = self.run(job, "hosts", self.device, ["train.epochs=3", "cluster.hosts=2"])
        together = self.run(
            job, "together", self.device, ["train.epochs=3", "cluster.hosts=1", "cluster.trainers_per_host=2"]
        )
        alone = self.run(job, "alone", self.device, ["train.epochs=3", "cluster.hosts=1"])
        for which in ("batches", "parameters"):
            self.expect_equal(which, apart, together, "two hosts of a rank against one host of two")
        self.expect_equal("batches", apart, alone, "two ranks against one")
        return "two ranks on one device as on two hosts; batches of one rank are those of two"

    def optimizers(self):
        """Each optimizer, with clipping and running statistics, where the parameters are."""
        job = os.path.join(ROOT, "examples", "quickstart.json")
        ways = {
            "sgd": ["train.optimizer.kind=sgd", "train.optimizer.momentum=0.9", "train.clip=0.1"],
            "adamw": ["train.optimizer.kind=adamw", "train.optimizer.weight_decay=0.1", "model.norm=batch"],
            "adagrad": ["train.optimizer.kind=adagrad", "train.optimizer.lr=0.05", "train.clip=1"],
        }
        for name, way in ways.items():
            settings = ["train.epochs=3"] + way
            self.runs_of_model(name, job, settings)
        return f"{', '.join(ways)}: two equal runs each, batches of the CPU" + (" and its parameters" if self.emulated else "")

    def precisions(self):
        """Products in TF32 and bfloat16: equal runs, batches of the CPU, about the loss of float32."""
        job = os.path.join(ROOT, "examples", "quickstart.json")
        base = ["train.epochs=5"]
        if self.emulated:
            self.expect_refused(job, self.device, base + ["train.precision=tf32"])
            return "tf32 refused here: emulated devices have the products of CPUs"
        on_cpu = self.run(job, "precision-cpu", "cpu", base)
        runs = {}
        for name in ("float32", "tf32", "bf16"):
            settings = base + [f"train.precision={name}"]
            one = runs[name] = self.run(job, f"precision-{name}-1", self.device, settings)
            again = self.run(job, f"precision-{name}-2", self.device, settings)
            self.expect_equal("batches", on_cpu, one, f"the CPU against {name}")
            self.expect_equal("parameters", one, again, f"two equal runs with {name}")
            says = f"products in {name}" in one["hardware"]["devices"]
            if says != (name != "float32"):
                raise Failed(f"hardware.devices of {name}: found {one['hardware']['devices']}")
        parameters = {name: report["digests"]["parameters"] for name, report in runs.items()}
        if parameters["float32"] in (parameters["tf32"], parameters["bf16"]):
            raise Failed(f"parameters: expected others than float32's with tf32 and bf16, found {parameters}")
        losses = {name: report["epochs"][-1]["loss"] for name, report in runs.items()}
        if any(not abs(loss - losses["float32"]) <= 0.05 * abs(losses["float32"]) for loss in losses.values()):
            raise Failed(f"loss of the last epoch: expected all within 5 % of float32's, found {losses}")
        same = "; tf32 and bf16 have the same bits" if parameters["tf32"] == parameters["bf16"] else ""
        return "losses of the last epoch: " + ", ".join(f"{name} {loss:.5f}" for name, loss in losses.items()) + same

    def expect_refused(self, job, device, settings):
        """A run that ends at its start, because the device has no such products."""
        try:
            self.output(self.command(job, "refused", device, settings), 60)
        except Failed as refusal:
            if "/train/precision: expected \"float32\"" not in refusal.output:
                raise
            return
        raise Failed(f"{' '.join(settings)} on {device}: expected a refusal, found a run")

    def tiers(self):
        """Rows and lists in the device's memory or pinned in the host's: the same run."""
        job = os.path.join(ROOT, "examples", "quickstart.json")
        base = ["train.epochs=3", "cluster.hosts=1", "partition.parts=1", "sample.on=device"]
        all_near = self.run(job, "tiers-all", self.device, base + ["features.cache.device_budget=100%"])
        served = {}
        for budget in ("0", "10%", "100%", "auto"):
            for lists in ("device", "pinned"):
                name = f"tiers-{budget.rstrip('%')}-{lists}"
                settings = base + [f"features.cache.device_budget={budget}", f"sample.device_lists={lists}"]
                found = self.run(job, name, self.device, settings)
                for which in ("batches", "parameters"):
                    self.expect_equal(which, all_near, found, f"all rows on the device against budget {budget}, lists {lists}")
                epoch = found["epochs"][-1]
                served[budget] = (epoch["rows_device"], epoch["rows_pinned"])
        if served["0"][0] != 0 or served["100%"][1] != 0 or 0 in served["10%"]:
            raise Failed(f"rows by tier: expected none, some and all of the device, found {served}")
        found = ", ".join(f"{budget}: {near} and {far}" for budget, (near, far) in served.items())
        return f"one digest; rows of an epoch from the device and pinned memory: {found}"

    def samplers(self):
        """Sampler processes and servers with devices of their own: the CPU's run, and one of the device."""
        job = os.path.join(ROOT, "examples", "quickstart.json")
        base = ["train.epochs=3"]
        on_cpu = self.run(job, "samplers-cpu", "cpu", base)
        there = self.run(job, "samplers-none", self.device, base)
        places = {
            "worker": ["cluster.placement=worker", "partition.parts=1", "cluster.replicas=2", "sample.on=device"],
            "worker, two parts": ["cluster.placement=worker"],
            "servers": ["cluster.placement=server_client", "cluster.servers=1", "partition.parts=1", "sample.on=device"],
        }
        for name, place in places.items():
            settings = base + place + [f"cluster.sampler_devices={self.device}"]
            found = self.run(job, f"samplers-{name}-cpu", "cpu", settings)
            for which in ("batches", "parameters", "outputs"):
                self.expect_equal(which, on_cpu, found, f"CPUs alone against {name}, ranks on CPUs")
            epoch = found["epochs"][-1]
            if epoch["rows_device"] == 0 or (epoch["rows_remote"] > 0) != (name == "worker, two parts"):
                raise Failed(f"{name}: rows by tier: expected some of the device, found {epoch}")
            found = self.run(job, f"samplers-{name}", self.device, settings)
            for which in ("batches", "parameters"):
                self.expect_equal(which, there, found, f"ranks that make their batches against {name}")
        return f"{', '.join(places)}: ranks on CPUs have the bits of CPUs alone, ranks on a device those of their own batches"

    def parts(self):
        """Rows of a graph in two parts: those of each host's part on the device or pinned, the others staged."""
        job = os.path.join(ROOT, "examples", "quickstart.json")
        base = ["train.epochs=3"]
        on_cpu = self.run(job, "parts-cpu", "cpu", base)
        first = None
        served = {}
        for budget in ("0", "10%", "100%"):
            settings = base + [f"features.cache.device_budget={budget}"]
            found = self.run(job, f"parts-{budget.rstrip('%')}", self.device, settings)
            self.expect_equal("batches", on_cpu, found, f"the CPU against budget {budget}")
            first = first or found
            self.expect_equal("parameters", first, found, f"budget 0 against {budget}")
            epoch = found["epochs"][-1]
            if epoch["rows_remote"] != on_cpu["epochs"][-1]["rows_remote"]:
                raise Failed(f"rows_remote: expected {on_cpu['epochs'][-1]['rows_remote']}, found {epoch['rows_remote']}")
            served[budget] = (epoch["rows_device"], epoch["rows_pinned"], epoch["rows_remote"])
        if served["0"][0] != 0 or served["100%"][1] != 0 or 0 in served["10%"]:
            raise Failed(f"rows by tier: expected none, some and all of the part on the device, found {served}")
        found = ", ".join(f"{budget}: {near}, {far} and {staged}" for budget, (near, far, staged) in served.items())
        return f"the CPU's batches; rows of an epoch from the device, pinned memory and the other host: {found}"

    def predict(self, job, name, model, device, settings, nodes="all"):
        """Seconds of exact inference without training; its output is WORK/NAME."""
        out = os.path.join(self.work, name)
        words = [self.programs["troupe"], "predict", job, "--model", model, "--nodes", nodes, "--out", out]
        for setting in [f"output={os.path.join(self.work, name + '-run')}", f"cluster.device={device}"] + list(settings):
            words += ["--set", setting]
        text = self.output(words, 200)
        if "exact inference on the CPU" in text:
            raise Failed(f"{name}: expected exact inference on {device}, found it on the CPU", text)
        return float(re.search(r"computed in ([0-9.]+) s", text).group(1))

    def exact(self):
        """Exact inference: one row, one value, whatever the parts, hosts and ranks; near the CPU's."""
        job = os.path.join(ROOT, "examples", "quickstart.json")
        found = []
        for kind, more in (("graphsage", []), ("gcn", []), ("gat", ["model.heads=4", "model.hidden=32"]), ("gin", [])):
            model = [f"model.kind={kind}"] + more
            self.run(job, f"exact-{kind}", self.device, model + ["train.epochs=3"])
            saved = os.path.join(self.work, f"exact-{kind}", "model.safetensors")
            layouts = {
                "whole": ["cluster.hosts=1", "partition.parts=1"],
                "parts": ["cluster.hosts=1", "partition.parts=3", "cluster.trainers_per_host=2"],
                "hosts": ["cluster.hosts=2", "partition.parts=2"],
            }
            rows = {}
            for layout, settings in layouts.items():
                self.predict(job, f"exact-{kind}-{layout}", saved, self.device, model + settings)
                rows[layout] = numbers_of(os.path.join(self.work, f"exact-{kind}-{layout}", "predictions.npy"))
                if rows[layout] != rows["whole"]:
                    raise Failed(f"{kind}: logits of {layout}: expected those of one part on one host, bit for bit")
            self.predict(job, f"exact-{kind}-cpu", saved, "cpu", model + layouts["whole"])
            on_cpu = numbers_of(os.path.join(self.work, f"exact-{kind}-cpu", "predictions.npy"))
            apart = max(abs(a - b) for a, b in zip(rows["whole"], on_cpu)) / max(abs(value) for value in on_cpu)
            if not apart <= (0 if self.emulated else 1e-4) or len(on_cpu) != len(rows["whole"]):
                raise Failed(f"{kind}: logits: expected those of the CPU, found some {apart:.2g} of the largest apart")
            found.append(f"{kind} {apart:.1g}")
        return f"the same bits of 1 and 3 parts, on 1 and 2 hosts; of the largest logit apart from the CPU: {', '.join(found)}"

    def auto(self):
        """What cluster.device "auto" becomes: this host's GPUs, else the CPU."""
        job = os.path.join(ROOT, "examples", "quickstart.json")
        found = self.run(job, "auto", "auto", ["train.epochs=2"])
        became = found["job"]["cluster"]["device"]
        if not self.emulated and became != "auto:cuda":
            raise Failed(f"cluster.device: expected auto:cuda, found {became}")
        device = became.split(":")[1]
        same = self.run(job, "auto-same", device, ["train.epochs=2"])
        self.expect_equal("parameters", same, found, f"{device} against auto")
        if became not in found["hardware"]["devices"]:
            raise Failed(f"hardware.devices: expected {became} there, found {found['hardware']['devices']}")
        return found["hardware"]["devices"]

    def kill_and_resume(self):
        job = os.path.join(ROOT, "examples", "local.json")
        settings = ["train.epochs=12", "checkpoint.every.steps=2"]
        undisturbed = self.run(job, "undisturbed", self.device, settings)
        command = self.command(job, "killed", self.device, settings)
        with open(os.path.join(self.work, "killed.log"), "w") as log:
            child = subprocess.Popen(
                command, stdout=log, stderr=log, env=self.environment, cwd=ROOT, start_new_session=True
            )
        checkpoints = os.path.join(self.work, "killed", "checkpoints", "step-*")
        until = time.time() + 60
        while len(glob.glob(checkpoints)) < 2 and child.poll() is None and time.time() < until:
            time.sleep(0.005)
        early = child.poll() is None
        os.killpg(child.pid, signal.SIGKILL)  # also the processes that it started
        child.wait()
        if not early or not glob.glob(checkpoints):
            raise Failed("expected a checkpoint before the end of the run: it could not be killed in between")
        self.output(command + ["--resume"], 120)
        resumed = self.report("killed")
        for which in ("batches", "parameters"):
            self.expect_equal(which, undisturbed, resumed, "an undisturbed run against a killed and resumed one")
        return f"killed with {len(glob.glob(checkpoints))} checkpoints there, then resumed: same digests"

    # Tests.

    def tests(self):
        record = os.path.join(self.work, "record.txt")
        self.output([self.programs["gpu_tests"]], 200, TROUPE_TEST_RECORD=record)
        with open(record) as file:
            lines = file.read().splitlines()
        counts = " ".join(lines[:3])
        skipped = [line for line in lines if line.startswith("skipped ") and ":" in line]
        # Of NCCL without NCCL, which is not in bundles: all else is checked without it.
        needed = [line for line in skipped if "libnccl.so" not in line]
        if needed and not self.emulated:
            raise Failed(f"{counts}: {needed[0]}")
        return counts + (f"; {skipped[0].split(': ', 1)[1]}" if skipped else "")

    def python(self):
        """PyTorch on batches in the device's memory."""
        package = self.programs["python"]
        if not os.path.isdir(package):
            raise NotRun("the Python package is not in the bundle: PYTHON=… bench/gpu_bundle.sh")
        more = {"PYTHONPATH": package, "TROUPE_PROGRAM": self.programs["troupe"], "TROUPE_SOURCE_DIR": ROOT}
        try:
            self.output([sys.executable, "-c", "import troupe, torch, torch_geometric"], 60, **more)
        except Failed as reason:
            raise NotRun(f"{os.path.basename(sys.executable)}: {last_line(reason.output)}")
        tests = os.path.join(ROOT, "tests", "python")
        command = [sys.executable, "-B", os.path.join(tests, "run_tests.py"), os.path.join(tests, "torch_device_test.py")]
        text = self.output(command + ["OnEmulatedDevice" if self.emulated else "OnGpu"], 150, **more)
        return next(line for line in text.splitlines() if line.startswith("Ran "))

    def sanitizer(self):
        if self.emulated:
            raise NotRun("an emulated device has none; the asan and tsan presets run the same tests")
        places = ["compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer"]
        places += [os.path.join(self.cublas, "..", "bin", "compute-sanitizer")]
        tool = next((found for found in map(shutil.which, places) if found), None)
        if tool is None:
            raise NotRun("no compute-sanitizer here")
        chosen = ":".join(
            f"*{name}/cuda"
            for name in (
                "OfAnyNumberOfSeeds",
                "OfBatchesHaveTheHostsDigest",
                "AreNormalizedAsOnTheHost",
                "DropoutCopiesAndSums",
                "HaveEqualBitsEachTime",
            )
        )
        command = [tool, "--tool", "memcheck", "--error-exitcode", "9", self.programs["gpu_tests"], f"--gtest_filter={chosen}"]
        refused = re.compile(r".*(not supported|Unable to|insufficient permission|no CUDA device|no exit code|find exit code).*", re.I)
        try:
            text = self.output(command, 100)
        except Failed as problem:
            if re.search(r"ERROR SUMMARY: [1-9]", problem.output):
                raise
            reason = refused.search(problem.output)
            if reason or not problem.output:  # or it took too long
                raise NotRun(reason.group(0).strip("= ") if reason else str(problem))
            raise
        if reason := refused.search(text):
            raise NotRun(reason.group(0).strip("= "))
        return last_line(text)

    def correct(self):
        self.item("tests of stages and operations", self.tests)
        for name, (job, settings) in self.models().items():
            self.item(f"runs of {name}", lambda: self.runs_of_model(name, job, settings))
        self.item("optimizers, clipping, statistics", self.optimizers)
        self.item("cluster.device \"auto\"", self.auto)
        self.item("precision of products", self.precisions)
        self.item("rows and lists in two tiers", self.tiers)
        self.item("rows of several parts", self.parts)
        self.item("samplers on devices", self.samplers)
        self.item("exact inference", self.exact)
        self.item("ranks of one device", self.ranks)
        self.item("kill -9 and --resume", self.kill_and_resume)
        self.item("Python", self.python)
        self.item("compute-sanitizer", self.sanitizer)
        self.item("several GPUs", self.several)

    def several(self):
        raise NotRun("one device: ranks that exchange gradients by NCCL need two")

    # Measurements.

    def rmat(self, shape=None):
        """A graph of the size of ogbn-products, an eightieth of it for emulated devices.

        `shape`: nodes, edges, columns of features, classes and training seeds of another one.
        """
        small = (30612, 1546478, 100, 47, 4096)
        shape = small if self.emulated else shape or (2449029, 123718280, 100, 47, 196615)
        store = os.path.join(self.work, "rmat")
        options = []
        nodes, edges, *rest = shape
        for name, number in zip(("nodes", "edges", "features", "classes", "train"), (nodes, edges // 2, *rest)):
            options += ["--" + name, str(number)]
        options += ["--symmetrize", "--labels", "random"]
        self.output([self.programs["troupe"], "generate", "rmat", store] + options, 400)
        parts = os.path.join(self.work, "rmat-parts1")  # cut once, not by every run
        self.output([self.programs["troupe"], "partition", store, parts, "--parts", "1", "--fanout", "15", "10", "5"], 400)
        return store, parts

    def stages(self, store):
        """The stages of a batch and a training step, by themselves."""
        out = os.path.join(self.work, "stages.json")
        job = os.path.join(ROOT, "bench", "gpu", "speed.json")
        command = [self.programs["troupe_gpu_stages"], job, "--set", f"dataset.path={store}", "--device", self.device]
        if self.emulated:
            command += ["--repeats", "3", "--warm-ups", "1", "--batch-sizes", "64,256", "--limit-bytes", "8388608"]
            command += ["--set", "sample.batch_size=128", "--set", "model.hidden=32"]
        command += ["--set", f"output={os.path.join(self.work, 'stages')}"]
        lines = self.output(command + ["--out", out], 240).splitlines(True)
        first = next(i for i, line in enumerate(lines) if "; medians of " in line)  # what was said before is no result
        self.table = "".join(lines[first:])
        with open(out) as file:
            self.measured = json.load(file)
        return f"medians of {self.measured['repeats']}; every batch had the CPU's digest"

    def seconds_of_epochs(self, store, name, device, settings, epochs=4):
        """The shortest epoch but the first, and the last one's report."""
        job = os.path.join(ROOT, "bench", "gpu", "speed.json")
        settings = [f"dataset.path={store}", f"train.epochs={epochs}"] + settings
        if self.emulated:
            settings += ["sample.batch_size=512", "model.hidden=32"]
        report = self.run(job, name, device, settings)
        return min(epoch["seconds"] for epoch in report["epochs"][1:]), report["epochs"][-1]

    def epochs(self, store):
        """Seconds of epochs of whole runs, beside what the limits of the device allow."""
        ways = {
            "CPU": ("cpu", ["digest=off"], 2),
            "device": (self.device, ["digest=off"], 4),
            "device, digest of ids": (self.device, ["digest=ids"], 4),
            "device, digest of rows": (self.device, ["digest=full"], 4),
        }
        if not self.emulated:
            for name in ("tf32", "bf16"):
                ways[f"device, products in {name}"] = (self.device, ["digest=off", f"train.precision={name}"], 4)
        for name, (device, settings, epochs) in ways.items():
            seconds, last = self.seconds_of_epochs(store, "epochs-" + re.sub(r"\W+", "-", name), device, settings, epochs)
            self.whole_runs[name] = {
                "seconds": seconds,
                "batches": last["batches"],
                "seeds_per_s": round(last["seeds"] / seconds),
                "wait_share": round(last["wait_share"], 3),
            }
        # A batch's products and the gather of its rows, at the rates of the same machine.
        step, limits = self.measured["step"], self.measured["limits"]
        rows = next(of for of in self.measured["batches"] if of["batch_size"] in (step["batch_size"], 256))
        products_ms = step["products_gf"] / limits["product_tf_s"]["median"]
        gather_ms = rows["gather_ms"]["median"] * rows["gather_share_of_copy"]
        found = self.whole_runs["device"]
        of_limits = found["batches"] * (products_ms + gather_ms) / 1e3
        self.whole_runs["limits_seconds"] = of_limits
        texts = [f"{name} {of['seconds']:.3f} s" for name, of in self.whole_runs.items() if isinstance(of, dict)]
        text = (
            f"epochs of {found['batches']} batches: {', '.join(texts)}; limits of products and rows {of_limits:.3f} s: "
            f"{found['seconds'] / of_limits:.1f} times (aim: 2); ranks without a batch {100 * found['wait_share']:.0f} % (aim: below 5)"
        )
        if not self.emulated and (found["seconds"] > 2 * of_limits or found["wait_share"] >= 0.05):
            raise Missed(text)
        return text

    def samplers_speed(self, store):
        """Whole runs whose batches a sampler process makes, on CPUs and on the device."""
        seconds = {}
        for name, devices in (("CPUs", "cpu"), ("the device", self.device)):
            settings = ["digest=off", "cluster.launch=local", "cluster.placement=worker"]
            settings += [f"cluster.sampler_devices={devices}", "features.cache.device_budget=" + ("20%" if devices != "cpu" else "auto")]
            seconds[name], _ = self.seconds_of_epochs(store, f"samplers-{devices}", self.device, settings, 3)
        self.whole_runs["samplers"] = seconds
        return "epochs of a rank on the device, batches by a sampler process: " + ", ".join(
            f"on {name} {value:.2f} s" for name, value in seconds.items()
        )

    def peer(self, store):
        """PyG's loader and step on the same device and graph."""
        script = os.path.join(ROOT, "bench", "peers", "gpu_epoch.py")
        if self.emulated:
            raise NotRun("PyG needs a GPU here")
        try:
            self.output([sys.executable, "-c", "import torch_geometric, pyg_lib"], 60)
        except Failed as reason:
            raise NotRun(f"PyG with its sampler: {reason}")
        out = os.path.join(self.work, "pyg.json")
        try:
            self.output([sys.executable, "-W", "ignore", script, "--store", store, "--out", out], 150)
        except Failed:
            if not os.path.exists(out):
                raise
        with open(out) as file:
            self.peers = json.load(file)
        epochs = [of for of in self.peers.get("settings", []) if "ms_per_batch" in of]
        if not epochs:
            raise Failed("PyG: no setting works", json.dumps(self.peers))
        best = min(epochs, key=lambda of: of["ms_per_batch"])
        ours = 1e3 * self.whole_runs["device"]["seconds"] / self.whole_runs["device"]["batches"]
        text = (
            f"{best['ms_per_batch']} ms a batch (rows on the {best['features']}, {best['workers']} workers); "
            f"Troupe {ours:.2f} ms: {best['ms_per_batch'] / ours:.1f} times as fast (aim: 10)"
        )
        if best["ms_per_batch"] < 10 * ours:
            raise Missed(text)
        return text

    def tiers_speed(self, store):
        """Whole runs with a tenth of the rows on the device, beside all of them there."""
        seconds = {}
        for budget in ("100%", "10%", "0"):
            name = f"tiers-{budget.rstrip('%')}"
            settings = ["digest=off", f"features.cache.device_budget={budget}"]
            seconds[budget], _ = self.seconds_of_epochs(store, name, self.device, settings)
        self.whole_runs["tiers"] = seconds
        ratio = seconds["10%"] / seconds["100%"]
        found = ", ".join(f"{budget} {value:.3f} s" for budget, value in seconds.items())
        link = self.measured["limits"]["link_gb_s"]["median"]
        pinned = max(batch["tiers"]["gather_pinned"]["pinned_gb_s"]["median"] for batch in self.measured["batches"])
        text = (
            f"epochs: {found}; 10 % against all: {ratio:.2f} (aim: at most 1.1); "
            f"gather from pinned memory {pinned:.1f} GB/s, {100 * pinned / link:.0f} % of the link's {link:.1f} (aim: at least 90)"
        )
        if not self.emulated and (ratio > 1.1 or pinned < 0.9 * link):
            raise Missed(text)
        return text

    def rgat(self):
        """Training of R-GAT on a thousandth of IGBH-full, beside MLPerf's rate of such a device on all of it."""
        with open(os.path.join(ROOT, "bench", "gpu", "igbh.json")) as file:
            shape = json.load(file)
        if self.emulated:
            for of, key in [(of, "count") for of in shape["node_types"].values()] + [(of, "edges") for of in shape["edge_types"].values()]:
                of[key] = max(shape["classes"], of[key] // 100)
            shape["splits"][""]["train"] = 256
        schema = os.path.join(self.work, "igbh-schema.json")
        with open(schema, "w") as file:
            json.dump(shape, file)
        store, parts = os.path.join(self.work, "igbh"), os.path.join(self.work, "igbh-parts1")
        self.output([self.programs["troupe"], "generate", "heterogeneous", store, "--schema", schema], 100)
        self.output([self.programs["troupe"], "partition", store, parts, "--parts", "1"], 100)
        settings = ["digest=off", "model.kind=rgat", "model.hidden=512", "model.heads=4", "model.out_heads=1", "eval.mode=sampled"]
        seconds, last = self.seconds_of_epochs(parts, "rgat", self.device, settings, 3)
        rate = last["seeds"] / seconds
        self.whole_runs["rgat"] = {"seconds": seconds, "seeds": last["seeds"], "edges": last["edges"], "seeds_per_s": round(rate)}
        text = (
            f"3 layers of {32 if self.emulated else 512} in four heads, seven edge types: {rate:.0f} seeds/s, {last['edges'] / last['seeds']:.0f} edges each "
            f"(MLPerf on all of IGBH, an H200 of eight: {MLPERF_RGAT})"
        )
        if not self.emulated and rate < MLPERF_RGAT:
            raise Missed(text)
        return text

    def exact_speed(self, store):
        """Exact inference of all nodes with the model of a run, beside the CPU."""
        job = os.path.join(ROOT, "bench", "gpu", "speed.json")
        settings = [f"dataset.path={store}"] + (["model.hidden=32"] if self.emulated else [])
        model = os.path.join(self.work, "epochs-device", "model.safetensors")
        seconds = {}
        for name, device in (("device", self.device), ("CPU", "cpu")):
            seconds[name] = self.predict(job, f"exact-{name}", model, device, settings)
        self.whole_runs["exact_seconds"] = seconds
        return (
            f"all nodes, 3 layers: device {seconds['device']:.1f} s, CPU {seconds['CPU']:.1f} s: "
            f"{seconds['CPU'] / max(seconds['device'], 0.05):.1f} times as fast"
        )

    def speed(self):
        self.table, self.measured, self.whole_runs, self.peers = "", {}, {}, {}
        stores = []
        self.item("graph", lambda: stores.extend(self.rmat()) or "R-MAT, made here")
        if stores:
            whole, parts = stores
            self.item("stages", lambda: self.stages(parts))
            self.item("whole runs", lambda: self.epochs(parts))
            self.item("rows in two tiers", lambda: self.tiers_speed(parts))
            self.item("samplers on devices", lambda: self.samplers_speed(parts))
            self.item("exact inference", lambda: self.exact_speed(parts))
            self.item("PyG", lambda: self.peer(whole))
        self.item("R-GAT", self.rgat)
        self.item("several GPUs", self.several)

    # A larger graph.

    def papers(self, store):
        """Epochs on a quarter of ogbn-papers100M's nodes, edges and seeds."""
        seconds, last = self.seconds_of_epochs(store, "papers", self.device, ["digest=off"])
        self.whole_runs["papers"] = {"seconds": seconds, "seeds": last["seeds"], "edges": last["edges"]}
        scaled = seconds * PAPERS_SEEDS / last["seeds"]
        text = (
            f"epoch of {last['seeds']} seeds {seconds:.3f} s; {PAPERS_SEEDS} seeds {scaled:.2f} s (aim: 3); "
            f"ranks without a batch {100 * last['wait_share']:.0f} %"
        )
        if not self.emulated and scaled > 3:
            raise Missed(text)
        return text

    def large(self):
        self.table, self.measured, self.whole_runs, self.peers = "", {}, {}, {}
        stores = []
        self.item("graph", lambda: stores.extend(self.rmat(QUARTER_OF_PAPERS)) or "R-MAT, made here")
        if stores:
            self.item("a quarter of papers100M's shape", lambda: self.papers(stores[1]))

    # Results.

    def write(self, about):
        result = {**about, "checks": self.items}
        if self.arguments.mode != "correct":
            result["stages"], result["whole_runs"], result["pyg"] = self.measured, self.whole_runs, self.peers
        kind = "emulated" if self.emulated else "gpu"
        path = os.path.join(self.arguments.out, f"{kind}_{self.arguments.mode}_{about['date']}")
        with open(path + ".json", "w") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
        with open(path + ".md", "w") as file:
            file.write("".join(f"{key}: {value}\n\n" for key, value in about.items()))
            if self.arguments.mode != "correct":
                file.write(self.table + "\n")
            file.write("| check | outcome | s | |\n|---|---|--:|---|\n")
            for item in self.items:
                file.write("| {name} | {outcome} | {seconds} | {detail} |\n".format(**item))
        print(f"results: {path}.json and .md")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=("correct", "speed", "large"))
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N or emulated:1")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "dev"), help="build folder, where there is no bundle")
    parser.add_argument("--out", default=".", help="folder for the results")
    parser.add_argument("--work", help="folder for graphs and runs; default: a temporary one")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    arguments.out = os.path.abspath(arguments.out)
    arguments.build = os.path.abspath(arguments.build)
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        bench = Bench(arguments, work)
        about = bench.about()
        print(json.dumps(about), flush=True)
        getattr(bench, arguments.mode)()
        bench.write(about)
    return 1 if any(item["outcome"] == "failed" for item in bench.items) else 0


if __name__ == "__main__":
    sys.exit(main())
