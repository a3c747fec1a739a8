#!/usr/bin/env python3
"""Troupe and its peers by turns: the same arrays, the same cores, the same frontier, the same network path.

    bench/peers/setup.sh ENVIRONMENTS [PYG_LIB PARALLEL_HASHMAP]
    bench/peers/run.py --environments ENVIRONMENTS --build build/release --data FOLDER --out bench/results/peers_DATE.jsonl

Every system is first tried briefly with several numbers of threads and workers (batches in flight and samplers for
Troupe), on one core (--cores 0) with those that make sense there; the fastest setting takes part in the turns. Each line
of the result file is a JSON object: "about" (commit, processor, flags, date), "try", "turn", or a system with "skipped"
and the reason. table.py prints tables of it.
Two hosts are two network namespaces joined by a veth pair, one core each; that part needs root.
"""

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "bench", "support"))
from machine import Failed, Machine, Results, about, last_line  # noqa: E402
from taking import BATCH, FANOUT, SEEDS, epochs_of, rmat_words, take_words, write_job  # noqa: E402

LINKS = 341  # of a batch: with a negative each they have three ends, so about BATCH seeds
ADDRESSES = ["10.77.0.1", "10.77.0.2"]

# Python environment, and the frontier that Troupe is set to beside it.
PEERS = {
    "dgl": ("torch21", "all", False),
    "graphbolt": ("torch21", "all", False),
    "pyg": ("torch21", "new", False),
    "glt": ("glt", "new", True),
}
NEEDS = {
    "dgl": "import dgl",
    "graphbolt": "import dgl.graphbolt",
    "pyg": "import torch_geometric.typing as t; assert t.WITH_PYG_LIB, 'its loader needs pyg-lib, which is not installed'",
    "glt": "import graphlearn_torch",
    "pymetis": "import pymetis",
    "torch": "import torch",
}


class Network:
    """Two network namespaces joined by a veth pair: the two hosts."""

    def __enter__(self):
        self._delete()
        for host in (0, 1):
            self._ip("netns", "add", self.name(host))
        self._ip("link", "add", "eth0", "netns", self.name(0), "type", "veth", "peer", "name", "eth0", "netns", self.name(1))
        for host in (0, 1):
            self._ip("-n", self.name(host), "addr", "add", ADDRESSES[host] + "/24", "dev", "eth0")
            self._ip("-n", self.name(host), "link", "set", "eth0", "up")
            self._ip("-n", self.name(host), "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        self._delete()

    @staticmethod
    def name(host):
        return f"troupe-peers-{host}"

    def inside(self, host, command):
        """The command in a host's network, with mounts of its own."""
        return ["ip", "netns", "exec", self.name(host), "unshare", "--mount", "--propagation", "private"] + command

    @staticmethod
    def _ip(*words):
        done = subprocess.run(("ip",) + words, capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"ip {' '.join(words)}: {done.stderr.strip()}")

    def _delete(self):
        for host in (0, 1):
            subprocess.run(["ip", "netns", "delete", self.name(host)], capture_output=True)


class Data:
    """The graphs that all systems read: NumPy files, and the stores that Troupe makes of them."""

    def __init__(self, folder, troupe, graph, small, edge_columns):
        self.folder = folder
        self.troupe = troupe
        self.graph = graph
        self.small = small
        self.edge_columns = edge_columns  # the Python that makes them, with NumPy; "" where no measurement needs them

    def npy(self, graph):
        return os.path.join(self.folder, graph)

    def store(self, name):
        return os.path.join(self.folder, name)

    def prepare(self):
        for graph in {self.graph, "rmat8"}:
            divisor = 8 if graph == "rmat8" else 1
            self._make(
                self.npy(graph),
                ["generate", "rmat", "--npy", self.npy(graph)] + rmat_words(divisor),
            )
            bare = self.npy(graph) + "-without-features"
            if not os.path.exists(bare):
                os.makedirs(bare)
                for name in ("indptr.npy", "indices64.npy", "y.npy", "train_idx.npy"):
                    os.symlink(os.path.join(self.npy(graph), name), os.path.join(bare, name))
            for source in (self.npy(graph), bare):
                self._make(source + "-store", ["import", "--from", "npy", source, source + "-store"])
                self._make(source + "-parts1", ["partition", source + "-store", source + "-parts1", "--parts", "1"])
        self._make(self.npy("rmat8-parts2"), ["partition", self.npy("rmat8-store"), self.npy("rmat8-parts2"), "--parts", "2"])
        if self.edge_columns:
            self._prepare_edge_columns(self.edge_columns)
        for name in ("cnr2000", "ego_twitter"):
            edges = os.path.join(self.small, name, "edges.txt.gz")
            if self.small and os.path.exists(edges):
                words = ["import", "--from", "edgelist", "--symmetrize", "--dedup", "--drop-self-loops"]
                words += ["--ids", "text"] if name == "ego_twitter" else []
                self._make(self.store(name), words + [edges, self.store(name)])

    def _prepare_edge_columns(self, python):
        """The graph with weights of edges, and with some edges as links; the arrays of the graph itself are shared."""
        arrays = self.npy(self.graph) + "-edges"
        if os.path.exists(arrays + "-parts1"):
            return
        os.makedirs(arrays, exist_ok=True)
        for name in ("indptr.npy", "indices64.npy", "x.npy", "y.npy", "train_idx.npy"):
            if not os.path.lexists(os.path.join(arrays, name)):
                os.symlink(os.path.join(self.npy(self.graph), name), os.path.join(arrays, name))
        subprocess.run([python, os.path.join(ROOT, "bench", "system", "edge_columns.py"), arrays], check=True)
        self._make(arrays + "-store", ["import", "--from", "npy", os.path.join(arrays, "weights.json"), arrays + "-store"])
        self._make(arrays + "-parts1", ["partition", arrays + "-store", arrays + "-parts1", "--parts", "1"])
        shutil.rmtree(arrays + "-store")
        for name in ("edges.npy", "times.npy"):
            os.remove(os.path.join(arrays, name))

    def _make(self, target, words):
        if not os.path.exists(target):
            print("preparing:", "troupe", *words, file=sys.stderr, flush=True)
            subprocess.run([self.troupe] + words, check=True, stdout=subprocess.DEVNULL)


class Bench:
    def __init__(self, options):
        self.options = options
        self.build = os.path.realpath(options.build)
        self.troupe = os.path.join(self.build, "launcher", "troupe")
        self.machine = Machine(options.cores)
        columns = self.python("torch21") if {"weighted", "links"} & set(options.only.split(",")) else ""
        self.data = Data(os.path.realpath(options.data), self.troupe, options.graph, options.small, columns)
        self.results = None
        self.rounds = options.rounds
        self.unusable = {}

    # ---- peers ----

    def python(self, environment):
        return os.path.join(os.path.realpath(self.options.environments), environment, "bin", "python")

    def probe(self):
        """Which systems can be imported; the others are skipped with the reason."""
        os.environ["PYTHONPATH"] = os.path.join(HERE, "stand_in")
        for system, statement in NEEDS.items():
            python = self.python(PEERS.get(system, ("torch21",))[0])
            try:
                done = subprocess.run([python, "-c", statement], capture_output=True, text=True, timeout=300)
                if done.returncode:
                    self.unusable[system] = last_line(done.stderr)
            except OSError as error:
                place = os.path.relpath(python, os.path.realpath(self.options.environments))
                self.unusable[system] = f"{place}: {error.strerror}"

    def peer(self, system, script, words, limit=240):
        command = [self.python(PEERS.get(system, ("torch21",))[0]), os.path.join(HERE, script)] + words
        outputs, others = self.machine.run([command], limit)
        return self._result(outputs[0]), others

    @staticmethod
    def _result(output):
        found = re.findall(r"^RESULT (\{.*\})$", output, re.M)
        if not found:
            raise Failed(f"no result: {last_line(output)}")
        return json.loads(found[-1])

    # ---- Troupe ----

    def job(self, folder, store, frontier, replace, setting, **sections):
        path, output = os.path.join(folder, "job.json"), os.path.join(folder, "run")
        return write_job(path, store, frontier, replace, setting, output, **sections)

    def take(self, store, sections, frontier, replace, setting, epochs):
        """Batches through Troupe's actors, taken by a program that trains nothing."""
        with tempfile.TemporaryDirectory() as folder:
            job = self.job(folder, store, frontier, replace, setting, **sections)
            outputs, others = self.machine.run([[self.troupe, "run", job] + take_words(self.build, epochs)], 240)
        rates, edges, rows = epochs_of(outputs[0])
        return {
            "ms_per_batch": round(1e3 / statistics.median(rates[1:]), 2),
            "edges_per_batch": edges,
            "rows_per_batch": rows,
        }, others

    def train(self, frontier, replace, setting, epochs):
        store = self.data.npy(self.data.graph) + "-parts1"
        with tempfile.TemporaryDirectory() as folder:
            job = self.job(folder, store, frontier, replace, setting, train={"epochs": epochs + 1})
            _, others = self.machine.run([[self.troupe, "run", job]], 400)
            with open(os.path.join(folder, "run", "report.json")) as file:
                counted = json.load(file)["epochs"][1:]
        batches = SEEDS // BATCH
        return {
            "ms_per_batch": round(1e3 * statistics.median(epoch["seconds"] for epoch in counted) / batches, 2),
            "edges_per_batch": round(counted[-1]["edges"] / batches),
            "last_loss": round(counted[-1]["loss"], 4),
        }, others

    def two_hosts(self, frontier, replace, setting, epochs):
        """Two processes of a job, one per namespace, kept to one core each, over TCP without encryption."""
        take = take_words(self.build, epochs)
        with tempfile.TemporaryDirectory() as folder, Network() as network:
            token = os.path.join(folder, "token")
            director = ADDRESSES[0] + ":7000"
            job = self.job(
                folder,
                self.data.npy("rmat8-parts2"),
                frontier,
                replace,
                setting,
                cluster={
                    "launch": "manual",
                    "hosts": 2,
                    "listen": director,
                    "transport": "tcp",
                    "trusted_network": True,
                    "token_file": token,
                },
            )
            join = [self.troupe, "join", job, "--director", director, "--token-file", token, "--host-rank"]
            waiting = ["sh", "-c", f'until [ -s "{token}" ]; do sleep 0.1; done; sleep 0.5; exec "$@"', "sh"]
            commands = [network.inside(0, [self.troupe, "run", job] + take)]
            commands += [network.inside(host, waiting + join + [str(host)] + take) for host in (0, 1)]
            outputs, others = self.machine.run(commands, 240, cores=[str(self.machine.cores[i]) for i in (0, 0, 1)])
        together = "\n".join(outputs)
        (first, edges, rows), (second, _, _) = epochs_of(together, 0), epochs_of(together, 1)
        return {
            "batches_per_s": [round(a + b, 2) for a, b in zip(first, second)][1:],
            "edges_per_batch": edges,
            "rows_per_batch": rows,
        }, others

    def peer_hosts(self, system, script, words, limit):
        python = self.python(PEERS[system][0])
        parts = os.path.join(self.data.folder, f"rmat8-{system}2")
        if not os.path.exists(parts):
            prepare = [python, os.path.join(HERE, script), "prepare", "--graph", self.data.npy("rmat8"), "--parts", parts]
            subprocess.run(prepare, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        common = ["--parts", parts, "--addresses", ",".join(ADDRESSES), "--interface", "eth0"] + words
        with Network() as network:
            commands = [
                network.inside(host, [python, os.path.join(HERE, script), "host", "--rank", str(host)] + common)
                for host in (0, 1)
            ]
            outputs, others = self.machine.run(commands, limit, cores=[str(core) for core in self.machine.cores[:2]])
        return self._result(outputs[0]), others

    # ---- turns ----

    def best(self, bench, system, settings, measure, **fields):
        """Tries each setting once. Returns the fastest, none if none works."""
        found = []
        for setting in settings:
            try:
                result, others = measure(setting)
            except Failed as failed:
                self.results.add("failed", bench=bench, system=system, setting=setting, reason=str(failed), **fields)
                last = str(failed)
                continue
            self.results.add("try", bench=bench, system=system, setting=setting, other_cpu=others, **fields, **result)
            found.append((pace_of(result), setting))
        if not found:
            self.results.skip(bench, system, last, **fields)
            return None
        return max(found, key=lambda pair: pair[0])[1]

    def turns(self, bench, contests):
        """Each contest is (peer, its measurement, Troupe's, fields); they alternate, round by round."""
        for turn in range(self.rounds):
            for peer, theirs, ours, fields in contests:
                for system, measure in ((peer, theirs), ("troupe", ours)):
                    try:
                        result, others = measure()
                    except Failed as failed:
                        self.results.add("failed", bench=bench, system=system, beside=peer, round=turn, reason=str(failed), **fields)
                        continue
                    shown = {**fields, **result}
                    self.results.add("turn", bench=bench, system=system, beside=peer, round=turn, other_cpu=others, **shown)

    def contests(self, bench, systems, peer_settings, peer_measure, our_settings, our_measure, **fields):
        """Finds the best setting of each system and of Troupe at each system's frontier."""
        contests, our_best = [], {}
        for system in systems:
            if system in self.unusable:
                self.results.skip(bench, system, self.unusable[system])
                continue
            _, frontier, replace = PEERS[system]
            setting = self.best(bench, system, peer_settings[system], lambda s: peer_measure(system, s, True), **fields)
            if setting is None:
                continue
            key = (frontier, replace)
            shown = dict(fields, frontier=frontier, replace=replace)
            if key not in our_best:
                our_best[key] = self.best(bench, "troupe", our_settings, lambda s: our_measure(frontier, replace, s, True), **shown)
            if our_best[key] is None:
                continue
            ours = our_best[key]
            contests.append(
                (
                    system,
                    lambda system=system, setting=setting: with_setting(peer_measure(system, setting, False), setting),
                    lambda frontier=frontier, replace=replace, ours=ours: with_setting(our_measure(frontier, replace, ours, False), ours),
                    shown,
                )
            )
        return contests

    # ---- what is measured ----

    def settings(self, several, one):
        """What is tried: `one` where all share one core."""
        return several if len(self.machine.cores) > 1 else one

    def loaders(self, bench, systems, features, choice="uniform", links=False):
        """Batches of the peers' loaders and of Troupe's, by the same choice of neighbors."""
        graph = self.data.npy(self.data.graph) + ("-edges" if choice == "weighted" or links else "")
        store = graph + "-parts1" if graph.endswith("-edges") or features else graph + "-without-features-parts1"
        sections = {"sample": {"choice": choice}, "features": {"collect": features}}
        if links:
            sections["sample"].update(batch_size=LINKS, drop_last=True)
            sections["task"] = {"kind": "link", "exclude": "none", "negatives": {"kind": "triplet"}}

        def peer(system, setting, trying):
            words = ["--graph", graph, "--system", system, "--features", str(int(features)), "--choice", choice]
            words += ["--links", str(int(links)), "--threads", str(setting[0]), "--workers", str(setting[1])]
            words += ["--batches", str(SEEDS // BATCH), "--seconds", "2" if trying else "5"]
            return self.peer(system, "loader.py", words)

        def ours(frontier, replace, setting, trying):
            return self.take(store, sections, frontier, replace, setting, 1 if trying else 3)

        settings = self.settings([[2, 0], [1, 1], [1, 2]], [[1, 0]])  # threads, workers
        glt = self.settings([[1, 0], [2, 0]], [[1, 0]])  # its workers load seeds alone
        contests = self.contests(
            bench,
            systems,
            {**dict.fromkeys(systems, settings), "glt": glt},
            peer,
            self.settings([[1, 1, 2], [4, 1, 2], [8, 1, 2], [8, 2, 2]], [[1, 1, 1], [8, 1, 1]]),
            ours,
            graph=self.data.graph,
            features=features,
        )
        self.turns(bench, contests)

    def bench_loader(self):
        for features in (False, True):
            self.loaders("loader", PEERS, features)

    def bench_labor(self):
        for features in (False, True):
            self.loaders("labor", ["dgl", "graphbolt"], features, choice="labor")

    def bench_weighted(self):
        self.loaders("weighted", ["dgl", "graphbolt", "pyg"], False, choice="weighted")

    def bench_links(self):
        self.loaders("links", ["dgl", "graphbolt", "pyg"], False, links=True)

    def bench_train(self):
        graph = self.data.npy(self.data.graph)
        settings = self.settings([[2, 0], [2, 1], [1, 1]], [[1, 0]])

        def peer(system, setting, trying):
            words = ["--graph", graph, "--system", system, "--threads", str(setting[0]), "--workers", str(setting[1])]
            return self.peer(system, "train.py", words + ["--seconds", "4" if trying else "8"])

        def ours(frontier, replace, setting, trying):
            return self.train(frontier, replace, setting, 1)

        systems = ["dgl", "graphbolt", "pyg"]
        threads = len(self.machine.cores)
        contests = self.contests(
            "train", systems, dict.fromkeys(systems, settings), peer, [[4, 1, threads]], ours, graph=self.data.graph
        )
        self.turns("train", contests)
        self.results.skip("train", "glt", "it has no layers of its own: PyG's train on its batches")

    def bench_inference(self):
        """A model over the whole graph: torch's sparse products, and predict with a model of one epoch."""
        if "torch" in self.unusable:
            self.results.skip("inference", "torch", self.unusable["torch"])
            return
        threads = len(self.machine.cores)
        graph = self.data.npy(self.data.graph)

        def theirs():
            return self.peer("torch", "inference.py", ["--graph", graph, "--threads", str(threads)], limit=900)

        with tempfile.TemporaryDirectory() as folder:
            job = self.job(folder, graph + "-parts1", "new", False, (4, 1, threads))
            self.machine.run([[self.troupe, "run", job]], 400)
            command = [self.troupe, "predict", job, "--model", os.path.join(folder, "run", "model.safetensors"), "--nodes", "all"]

            def ours():
                outputs, others = self.machine.run([command], 900)
                return {"seconds": float(re.search(r"^computed in ([0-9.]+) s$", outputs[0], re.M).group(1))}, others

            self.turns("inference", [("torch", theirs, ours, {"graph": self.data.graph})])

    def bench_two_hosts(self):
        reason = "network namespaces need root" if os.geteuid() != 0 else "each host needs a core"
        if os.geteuid() != 0 or len(self.machine.cores) < 2:
            for system in ("dgl", "glt"):
                self.results.skip("two_hosts", system, reason)
            return

        def peer(system, setting, trying):
            epochs = "2" if trying else "4" if system == "dgl" else "3"
            if system == "dgl":
                words = ["--samplers", str(setting[0]), "--graphbolt", str(setting[1]), "--epochs", epochs]
                return self.peer_hosts(system, "dgl_hosts.py", words, 120)
            words = ["--mode", setting[0], "--concurrency", str(setting[1]), "--epochs", epochs]
            words += ["--batches", "8" if trying else "24"]  # it takes many times as long as the others
            return self.peer_hosts(system, "glt_hosts.py", words, 200)

        def ours(frontier, replace, setting, trying):
            return self.two_hosts(frontier, replace, setting, 1 if trying else 5)

        contests = self.contests(
            "two_hosts",
            ["dgl", "glt"],
            {  # DGL: sampler processes, GraphBolt; GLT: where samplers run, batches at once
                "dgl": [[0, 0], [0, 1], [1, 0], [1, 1]],
                "glt": [["processes", 2], ["processes", 4], ["collocated", 1]],
            },
            peer,
            [[8, 1, 1], [16, 1, 1]],
            ours,
            graph="rmat8",
        )
        self.turns("two_hosts", contests)
        self.results.skip("two_hosts", "graphbolt", "it is DGL's distributed loader over GraphBolt: the setting is tried there")
        self.results.skip("two_hosts", "pyg", "not tried: its partitioner needs METIS of torch-sparse or pyg-lib, which setup.sh does not build")

    def bench_metis(self):
        if "pymetis" in self.unusable:
            self.results.skip("metis", "pymetis", self.unusable["pymetis"])
            return
        for graph in ("cnr2000", "ego_twitter"):
            store = self.data.store(graph)
            if not os.path.exists(store):
                self.results.skip("metis", "pymetis", f"{graph}: no edge list was given with --small", graph=graph)
                continue
            for parts in (2, 4, 8):

                def theirs():
                    return self.peer("pymetis", "metis.py", ["--store", store, "--parts", str(parts)])

                def ours():
                    command = [os.path.join(self.build, "bench", "troupe_partition_bench"), store, "--json"]
                    command += ["--methods", "metis", "--parts", str(parts), "--imbalance", "1.03", "--tries", "1"]
                    outputs, others = self.machine.run([command], 240)
                    return json.loads(last_line_of_json(outputs[0])), others

                rounds, self.rounds = self.rounds, 1  # five seeds each
                self.turns("metis", [("pymetis", theirs, ours, {"graph": graph, "parts": parts, "tries": 1})])
                self.rounds = rounds

    def bench_accuracy(self):
        """Test scores of the examples: Troupe's two simulated hosts, and PyG's process with the same recipe."""
        for name, seeds in {"cora": 10, "cora_gcn": 10, "amazon_computers": 5, "tolokers": 5}.items():
            job = os.path.join(ROOT, "examples", name + ".json")
            scores = []
            with tempfile.TemporaryDirectory() as folder:
                for seed in range(1, seeds + 1):
                    output = os.path.join(folder, "run")
                    words = ["run", job, "--overwrite", "--set", f"seed={seed}", "--set", f"output={output}"]
                    self.machine.run([[self.troupe] + words], 600)
                    with open(os.path.join(output, "report.json")) as file:
                        scores.append(test_score(json.load(file)))
            self.results.add(
                "accuracy",
                system="troupe",
                job=name,
                test_mean=round(statistics.mean(scores), 2),
                test_sd=round(statistics.stdev(scores), 2),
                tests=scores,
            )
            if "pyg" in self.unusable:
                self.results.skip("accuracy", "pyg", self.unusable["pyg"])
                continue
            try:
                result, _ = self.peer("pyg", "accuracy.py", ["--job", job, "--seeds", "5"], limit=1800)
                self.results.add("accuracy", system="pyg", job=name, **result)
            except Failed as failed:
                self.results.skip("accuracy", "pyg", str(failed), job=name)

    def about(self):
        fields = {"cores": self.machine.cores, "rounds": self.rounds, "fanout": FANOUT, "batch_size": BATCH, "seeds": SEEDS}
        self.results.add("about", **about(self.build), **fields)


def test_score(report):
    """The test score of a run by the job's metric, in per cent."""
    metric = report["job"]["eval"].get("metric", "accuracy")
    return round(100 * report["scores"]["test"][metric], 2)


def pace_of(result):
    return statistics.median(result["batches_per_s"]) if "batches_per_s" in result else 1e3 / result["ms_per_batch"]


def with_setting(measured, setting):
    result, others = measured
    return dict(result, setting=setting), others


def last_line_of_json(output):
    return [line for line in output.splitlines() if line.startswith("{")][-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", required=True, help="folder that setup.sh filled")
    parser.add_argument("--build", required=True, help="release build with -DTROUPE_BUILD_BENCH=ON")
    parser.add_argument("--data", required=True, help="folder for graphs and stores (20 GB, 8 more for weighted and links; kept)")
    parser.add_argument("--small", default="", help="folder with cnr2000/edges.txt.gz and ego_twitter/edges.txt.gz")
    parser.add_argument("--out", help="the result file, replaced")
    parser.add_argument("--graph", choices=["rmat", "rmat8"], default="rmat", help="of all but two_hosts")
    parser.add_argument("--cores", type=lambda text: [int(core) for core in text.split(",")], default=[0, 1])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="loader,train,two_hosts,metis", help="comma-separated; further: inference, labor, weighted, links, accuracy")
    options = parser.parse_args()
    for tool in ("taskset", "ip", "unshare"):
        if shutil.which(tool) is None:
            sys.exit(f"run.py: expected the program {tool}, found none; try: the packages util-linux and iproute2")

    signal.signal(signal.SIGTERM, lambda *_: sys.exit("run.py: ended by a signal"))  # ends what it has started, too
    bench = Bench(options)
    bench.data.prepare()
    if not options.out:
        return  # the graphs alone
    bench.results = Results(options.out)
    bench.about()
    bench.probe()
    for name in options.only.split(","):
        getattr(bench, "bench_" + name)()


if __name__ == "__main__":
    main()
