"""What the tests of the Python package share: scratch folders, a small graph of several types, runs."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

import troupe

SOURCE = os.environ["TROUPE_SOURCE_DIR"]
PROGRAM = os.environ["TROUPE_PROGRAM"]
EXAMPLES = os.path.join(SOURCE, "examples", "python")
CORA = os.path.join(EXAMPLES, "cora.json")
CORA_DIGEST = "de8995d0f2040512eb1290c85880b67a"  # of 30 epochs, by the built-in trainer


class Scratch(unittest.TestCase):
    """Tests with a folder that goes when the class is done."""

    @classmethod
    def setUpClass(cls):
        cls._scratch = tempfile.TemporaryDirectory()
        cls.folder = cls._scratch.name

    @classmethod
    def tearDownClass(cls):
        cls._scratch.cleanup()

    def path(self, name):
        return os.path.join(self.folder, name)

    def output(self):
        """A folder of the test's own for a run's output; the store is shared by the class."""
        return self.path(re.sub(r".*\.", "", self.id()))

    def run_job(self, train, job=CORA, resume=False, overwrite=False, **changes):
        """troupe.run in this process; keywords are settings with "__" for "."."""
        settings = {key.replace("__", "."): value for key, value in changes.items()}
        settings.setdefault("output", self.output())
        troupe.run(train, job, set=settings, resume=resume, overwrite=overwrite)

    def collect(self, job, take, **changes):
        """What `take(session, batch)` returns for the batches of an epoch, of all ranks."""
        found = []

        def train(session):
            for batch in session.epoch(0):
                if batch.seeds:
                    found.append(take(session, batch))

        self.run_job(train, job, **changes)
        self.assertGreater(len(found), 0)
        return found


def with_settings(settings):
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def run_words(*words, timeout=100, **more):
    """Runs a program; its whole output as text."""
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=timeout, **more)


def python(*words, **more):
    return run_words(sys.executable, "-B", *words, **more)


class Watched:
    """A program under way, whose output is looked at."""

    def __init__(self, *words, folder):
        self.out = open(os.path.join(folder, f"watched-{time.time_ns()}"), "w+")
        self.process = subprocess.Popen(
            [str(w) for w in words], stdout=self.out, stderr=subprocess.STDOUT, start_new_session=True
        )

    def text(self):
        with open(self.out.name) as file:
            return file.read()

    def wait_for(self, text, seconds=60):
        end = time.monotonic() + seconds
        while text not in self.text():
            if time.monotonic() > end or (self.process.poll() is not None and text not in self.text()):
                raise AssertionError(f"{text!r} did not come: {self.text()}")
            time.sleep(0.01)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def end(self, seconds=60):
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"it did not end: {self.text()}") from None
        finally:
            self.out.close()
        return code


def line_of(text, word):
    """The line that begins with a word; "[host 0] " may stand before it."""
    found = re.search(rf"^(?:\[[^]]*\] )?({re.escape(word)} .*)$", text, re.MULTILINE)
    assert found, f"no line {word!r} in {text}"
    return found.group(1)


def write_toy(folder, users=60, items=40):
    """Users who buy items, with features, weights, times, ids and named columns of many kinds; and a job for it."""
    os.makedirs(folder)
    rng = np.random.default_rng(5)
    edges = np.stack([rng.integers(0, users, 400), rng.integers(0, items, 400)])
    arrays = {
        "x_user": rng.random((users, 6), np.float32),
        "y_user": rng.integers(0, 3, users),
        "x_item": rng.random((items, 4), np.float32),
        "edges": edges,
        "x_edge": rng.random((400, 3), np.float32),
        "weights": rng.random(400, np.float32) + 0.5,
        "times": rng.integers(0, 1000, 400),
        "train": np.arange(0, users, 2),
        "small": rng.integers(0, 255, (users, 2)).astype(np.uint8),
        "half": rng.random(users).astype(np.float16),
        "brain": (rng.random((users, 2), np.float32).view(np.uint32) >> 16).astype(np.uint16),
        "long": rng.integers(-(2**40), 2**40, items),
        "rating": rng.random(400),
        "bought": edges[:, :50],
        "bought_when": rng.integers(0, 1000, 50),
        "bought_value": rng.random(50, np.float32),
    }
    for name, array in arrays.items():
        np.save(os.path.join(folder, name + ".npy"), array)
    schema = {
        "node_types": {
            "user": {
                "features": "x_user.npy",
                "labels": "y_user.npy",
                "columns": {
                    "small": "small.npy",
                    "half": "half.npy",
                    "brain": {"file": "brain.npy", "dtype": "bf16"},
                },
            },
            "item": {"features": "x_item.npy", "columns": {"long": "long.npy"}},
        },
        "edge_types": {
            "buys": {
                "source": "user", "destination": "item", "edges": "edges.npy", "features": "x_edge.npy",
                "weights": "weights.npy", "times": "times.npy", "columns": {"rating": "rating.npy"},
                "reverse_edges": True,
            },
        },
        "splits": {"": {"train": {"user": "train.npy"}}},
        "links": {
            "bought": {"train": {"buys": {"ends": "bought.npy", "times": "bought_when.npy", "labels": "bought_value.npy"}}}
        },
    }  # fmt: skip
    with open(os.path.join(folder, "schema.json"), "w") as out:
        json.dump(schema, out)
    done = run_words(PROGRAM, "import", os.path.join(folder, "schema.json"), os.path.join(folder, "store"))
    assert done.returncode == 0, done.stderr
    job = {
        "dataset": {"path": "store"},
        "partition": {"method": "random", "parts": 3},
        "cluster": {"hosts": 2},
        "sample": {"fanout": [5, 4], "batch_size": 8, "edge_data": ["ids", "weights", "times", "features"]},
        "features": {
            "columns": [
                "nodes-user/small", "nodes-user/half", "nodes-user/brain", "nodes-item/long", "edges-buys/rating",
            ]
        },
        "train": {"epochs": 2},
        "seed": 3,
    }  # fmt: skip
    with open(os.path.join(folder, "job.json"), "w") as out:
        json.dump(job, out)
    return os.path.join(folder, "job.json"), arrays


def write_links(store):
    """Cora with a split of its edges, imported into `store`. Returns the job of the example of links."""
    cora = os.path.join(SOURCE, "examples", "data", "cora")
    done = run_words(PROGRAM, "import", "--edge-split", "0.8,0.1,0.1", cora, store)
    assert done.returncode == 0, done.stderr
    return os.path.join(SOURCE, "examples", "links", "cora.json")


def write_batches(job, out, **changes):
    """The batches of epoch 1 as `troupe batches` writes them. Returns its output folder."""
    settings = {key.replace("__", "."): json.dumps(value) for key, value in changes.items()}
    settings["output"] = out + "-run"
    done = run_words(PROGRAM, "batches", job, "--out", out, *with_settings(settings))
    assert done.returncode == 0, done.stderr
    return out


def batch_file(folder, number, *names):
    file = os.path.join(folder, f"batch-{number}", *names[:-1], names[-1] + ".npy")
    return np.load(file) if os.path.exists(file) else None
