"""Programs in Python as processes: launch modes, Ctrl-C and going on, exceptions, mistakes."""

import json
import os
import signal
import sys
import unittest

import numpy as np
import support
from support import CORA, EXAMPLES, PROGRAM, Watched, line_of, python, run_words, with_settings

HEAD = "import os, sys, time, threading\nimport numpy as np\nimport troupe\n"


class Programs(support.Scratch):
    def script(self, text):
        file = self.output() + ".py"
        with open(file, "w") as out:
            out.write(HEAD + text)
        return file

    def under_troupe(self, script, *arguments, first=(), **changes):
        settings = {key.replace("__", "."): value for key, value in changes.items()}
        settings.setdefault("output", self.output())
        return [PROGRAM, "run", CORA, *first, *with_settings(settings), "--", sys.executable, "-B", script, *arguments]

    # ---- launch modes ----

    def test_the_numpy_example_has_the_same_bits_in_every_launch_mode(self):
        """The batch digest is the built-in trainer's; Cora has the accuracy of the C++ example."""
        program = os.path.join(EXAMPLES, "train_numpy.py")
        weights = []
        for name, changes in (
            ("simulate", {}),
            ("one_host", {"cluster__hosts": 1, "cluster__trainers_per_host": 2}),
            ("local", {"cluster__launch": "local"}),
            ("worker", {"cluster__launch": "local", "cluster__placement": "worker"}),
        ):
            with self.subTest(name):
                out = self.path(name)
                ran = run_words(*self.under_troupe(program, out + ".npy", output=out, **changes))
                self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
                self.assertEqual(line_of(ran.stdout, "batches"), "batches " + support.CORA_DIGEST)
                self.assertGreaterEqual(float(line_of(ran.stdout, "test accuracy").split()[-1]), 0.77)
                self.assertIn("epoch 30: loss", ran.stdout)
                weights.append(np.load(out + ".npy"))
        for other in weights[1:]:
            np.testing.assert_array_equal(other, weights[0])

    def test_alone_all_hosts_are_simulated(self):
        out = self.output()
        script = self.script(
            "def train(session):\n"
            "    for batch in session.epoch(0):\n"
            "        session.end_step()\n"
            "    mine = ['rank', session.rank, 'of', session.world, os.getpid(), threading.get_ident()]\n"
            "    sys.stdout.write(' '.join(map(str, mine)) + '\\n')\n"  # whole: ranks may print at once
            f"troupe.run(train, {CORA!r}, set={{'output': {out!r}, 'train.epochs': 1, 'sample.fanout': [3, 2]}})\n"
            "print('after', 'TROUPE_JOB' in os.environ)\n"
        )
        ran = python(script)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        lines = [line.split() for line in ran.stdout.splitlines() if line.startswith("rank ")]
        self.assertEqual(sorted(line[1] for line in lines), ["0", "1"])
        self.assertEqual(len({line[4] for line in lines}), 1, "one process")
        self.assertEqual(len({line[5] for line in lines}), 2, "two threads")
        self.assertIn("after False", ran.stdout)

    def test_a_job_may_be_a_dict(self):
        """With paths from the current folder, and values of NumPy; `troupe run` takes its own job all the same."""
        folder = os.path.dirname(EXAMPLES)
        out = self.output()
        script = self.script(
            "import pathlib\n"
            "def train(session):\n"
            "    for batch in session.epoch(0):\n"
            "        session.end_step()\n"
            "    if session.rank == 0:\n"
            "        print(session.world, 'ranks', session.epochs, 'epochs', session.digest)\n"
            "job = {'dataset': {'path': pathlib.Path('data/cora')}, 'cluster': {'hosts': np.int64(2)},\n"
            "       'sample': {'fanout': np.array([10, 10]), 'batch_size': 32}, 'train': {'epochs': 1}}\n"
            f"troupe.run(train, job, set={{'output': {out!r}}})\n"
            "print('after', 'TROUPE_JOB_TEXT' in os.environ)\n"
        )
        ran = python(script, cwd=folder)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        alone = line_of(ran.stdout, "2 ranks 1 epochs")
        self.assertEqual(line_of(ran.stdout, "after"), "after False")
        self.assertTrue(os.path.exists(os.path.join(out, "report.json")))

        job = {
            "dataset": {"path": f"{folder}/data/cora"},
            "cluster": {"hosts": 2},
            "sample": {"fanout": [10, 10], "batch_size": 32},
            "train": {"epochs": 1},
            "output": self.path("under"),
        }
        file = self.path("job.json")
        with open(file, "w") as to:
            json.dump(job, to)
        under = run_words(PROGRAM, "run", file, "--", sys.executable, "-B", script, cwd=folder)
        self.assertEqual(under.returncode, 0, under.stdout + under.stderr)
        self.assertEqual(line_of(under.stdout, "2 ranks 1 epochs"), alone)

    def test_processes_of_their_own(self):
        script = self.script(
            "def train(session):\n"
            "    with open(sys.argv[1] + str(session.rank), 'w') as out:\n"
            "        out.write(str(os.getpid()))\n"
            f"troupe.run(train, {CORA!r}, set={{'train.epochs': 'nonsense'}})\n"  # the command's job counts
        )
        ran = run_words(*self.under_troupe(script, self.path("pid"), cluster__launch="local"))
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        pids = []
        for rank in "01":
            with open(self.path("pid" + rank)) as file:
                pids.append(file.read())
        self.assertNotEqual(*pids)

    def test_a_program_may_take_its_time_to_start(self):
        """Interpreters load large libraries before they call run."""
        script = self.script(
            "time.sleep(4)\n"
            "def train(session):\n"
            "    print('rank', session.rank)\n"
            f"troupe.run(train, {CORA!r})\n"
        )
        ran = run_words(*self.under_troupe(script, cluster__launch="local", cluster__heartbeat=0.2, cluster__lost_after=1))
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertNotIn("is lost", ran.stdout + ran.stderr)

    def test_report_and_metrics_say_how_a_run_was_started_and_ended(self):
        script = self.script(
            "def train(session):\n"
            "    for e in range(session.epochs):\n"
            "        for batch in session.epoch(e):\n"
            "            session.end_step()\n"
            f"troupe.run(train, {CORA!r}, set={{'output': {self.path('started_alone')!r}, 'train.epochs': 5}})\n"
        )
        for launch in ("alone", "simulate", "local"):
            with self.subTest(launch):
                out = self.path("started_" + launch)
                words = [sys.executable, "-B", script, "a b"]
                if launch != "alone":
                    words = self.under_troupe(script, "a b", output=out, train__epochs=5, cluster__launch=launch)
                ran = run_words(*words)
                self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
                with open(os.path.join(out, "report.json")) as file:
                    report = json.load(file)
                with open(os.path.join(out, "metrics.jsonl")) as file:
                    lines = [json.loads(line) for line in file]
                self.assertEqual(report["command"], " ".join(words[:-1]) + " 'a b'")
                self.assertRegex(report["start"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
                self.assertEqual(report["hosts"], [os.uname().nodename])
                self.assertGreater(report["seconds_per_step"], 0)  # of 5 steps, after the first 10
                self.assertGreaterEqual(report["seconds"]["total"], report["seconds"]["run"])
                self.assertEqual(report["digests"]["tensors"], {})
                self.assertEqual([line["kind"] for line in lines], ["start"] + ["epoch"] * 5 + ["end"])
                for key in ("start", "command", "hosts"):
                    self.assertEqual(lines[0][key], report[key])
                end = {"kind": "end", "status": "done", "seconds": report["seconds"]["total"]}
                self.assertEqual(lines[-1], {**end, "seconds_per_step": report["seconds_per_step"]})

    # ---- ends ----

    def expect_resumption(self, name, **changes):
        program = os.path.join(EXAMPLES, "train_numpy.py")
        long = {"train__epochs": 40, **changes}
        stopped, whole = self.path(name), self.path(name + "-whole")
        first = Watched(*self.under_troupe(program, stopped + ".npy", output=stopped, **long), folder=self.folder)
        first.wait_for("epoch 3: ")
        first.interrupt()
        self.assertEqual(first.end(), 130, first.text())
        self.assertIn("stopping after the current step", first.text())
        self.assertIn(f"go on from {stopped}/checkpoints/step-", first.text())
        self.assertNotIn("Traceback", first.text())
        self.assertNotIn("epoch 40: ", first.text())
        resumed = run_words(*self.under_troupe(program, stopped + ".npy", first=["--resume"], output=stopped, **long))
        self.assertEqual(resumed.returncode, 0, resumed.stdout + resumed.stderr)
        self.assertIn("resuming from", resumed.stdout)
        straight = run_words(*self.under_troupe(program, whole + ".npy", output=whole, **long))
        self.assertEqual(straight.returncode, 0, straight.stderr)
        for word in ("test accuracy", "batches", "epoch 40:"):
            self.assertEqual(line_of(resumed.stdout, word), line_of(straight.stdout, word))
        np.testing.assert_array_equal(np.load(stopped + ".npy"), np.load(whole + ".npy"))

    def test_ctrl_c_ends_with_a_checkpoint_and_resumes_to_the_same_bits(self):
        self.expect_resumption("simulated")

    def test_ctrl_c_ends_processes_likewise(self):
        self.expect_resumption("processes", cluster__launch="local")

    def test_a_killed_process_comes_back_to_the_same_bits(self):
        program = os.path.join(EXAMPLES, "train_numpy.py")
        changes = {"cluster__launch": "local", "train__epochs": 30, "checkpoint__every__epochs": 2}
        killed, whole = self.path("killed"), self.path("whole")
        first = Watched(*self.under_troupe(program, killed + ".npy", output=killed, **changes), folder=self.folder)
        first.wait_for("epoch 5: ")
        child = self.rank_process(first.process.pid)
        os.kill(child, signal.SIGKILL)
        self.assertEqual(first.end(90), 0, first.text())
        self.assertIn("all ranks start again", first.text())
        straight = run_words(*self.under_troupe(program, whole + ".npy", output=whole, **changes))
        self.assertEqual(line_of(first.text(), "batches"), line_of(straight.stdout, "batches"))
        np.testing.assert_array_equal(np.load(killed + ".npy"), np.load(whole + ".npy"))

    def rank_process(self, above):
        """A process of the run that is Python."""
        found = [above]
        for parent in found:
            for task in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{task}/children") as file:
                    found += [int(pid) for pid in file.read().split()]
        for pid in reversed(found[1:]):
            if "python" in os.readlink(f"/proc/{pid}/exe"):
                return pid
        raise AssertionError("no process of a rank was found")

    def test_an_exception_ends_the_run_with_its_traceback(self):
        script = self.script(
            "def train(session):\n"
            "    for batch in session.epoch(0):\n"
            "        if session.rank == 1 and batch.number > 1:\n"
            "            raise KeyError('no such thing')\n"
            "        session.end_step()\n"
            "    print('not reached')\n"
            f"troupe.run(train, {CORA!r}, set={{'output': {self.output()!r}}})\n"
        )
        for words in (["python"], ["simulate"], ["local"]):
            with self.subTest(words[0]):
                ran = (
                    python(script)
                    if words == ["python"]
                    else run_words(*self.under_troupe(script, output=self.output() + words[0], cluster__launch=words[0]))
                )
                text = ran.stdout + ran.stderr
                self.assertEqual(ran.returncode, 1, text)
                self.assertRegex(text, r"rank 1: Traceback \(most recent call last\)")
                self.assertRegex(text, r'(?s)line \d+, in train.*raise KeyError\(.no such thing.\)')
                self.assertRegex(text, r"troupe: rank 1: KeyError: 'no such thing'")
                self.assertNotIn("rank 0: Traceback", text)  # it was cancelled
                self.assertNotIn("not reached", text)

    def test_exit_codes_are_those_of_the_program(self):
        for body, code, text in (
            ("session.read_rows([10**9])", 2, "node"),
            ("session.seeds('last')", 3, "expected a role of the split"),
            ("sys.exit(4)", 1, r"exit\(4\)"),
            ("sys.exit()", 0, "^$"),
            ("session.all_reduce(np.zeros(2 + session.rank, np.float32))", 2, "rank 1"),
            ("session.all_reduce_gradients([] if session.rank else np.ones(2, np.float32), seeds=1)", 2, "rank 1"),
            ("session.end_step()", 3, "outside a turn"),
        ):
            with self.subTest(body):
                script = self.script(
                    f"def train(session):\n    {body}\n"
                    f"troupe.run(train, {CORA!r}, set={{'output': {self.output()!r}}}, overwrite=True)\n"
                )
                ran = python(script)
                self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
                self.assertRegex(ran.stderr, text)
                if "session" in body:  # the user's line is named
                    self.assertRegex(ran.stderr, r"rank 1: Traceback[^$]*, in train\n")

    def test_children_of_a_rank_end_by_signals_and_leave_the_session_alone(self):
        """Children that execute another program, forked ones, and forked ones that return into the run."""
        script = self.script(
            "import multiprocessing, signal, subprocess\n"
            "def forked(call):\n"
            "    child = os.fork()\n"
            "    if child == 0:\n"
            "        try:\n"
            "            call()\n"
            "        except RuntimeError as error:\n"
            "            os.write(1, f'{error}\\n'.encode())\n"
            "            os._exit(3)\n"
            "        os._exit(0)\n"
            "    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n"
            "def train(session):\n"
            "    if session.rank == 0:\n"
            "        ended = subprocess.Popen(['sleep', '60'])\n"
            "        ended.terminate()\n"
            "        print('executed', ended.wait(20))\n"
            "        ended = multiprocessing.get_context('fork').Process(target=time.sleep, args=(60,))\n"
            "        ended.start()\n"
            "        ended.terminate()\n"
            "        ended.join(20)\n"
            "        print('forked', ended.exitcode)\n"
            "        turns = session.epoch(0)\n"
            "        calls = (lambda: session.read_rows([1]), lambda: session.global_step, lambda: next(turns))\n"
            "        print('calls', [forked(call) for call in calls])\n"
            "    for batch in session.epoch(0):\n"
            "        session.end_step()\n"
            "    child = os.fork()\n"
            "    if child == 0 and session.rank == 0:\n"
            "        session.barrier(30)\n"
            "    if child == 0:\n"
            "        return\n"
            "    print('returned', session.rank, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
            f"troupe.run(train, {CORA!r}, set={{'output': {self.output()!r}}})\n"
            "print('after')\n"
        )
        local = self.under_troupe(script, first=["--overwrite"], cluster__launch="local")
        for words in ([sys.executable, "-B", script], local):
            with self.subTest(words[1]):
                ran = run_words(*words)
                self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
                for text in (f"executed {-signal.SIGTERM}", f"forked {-signal.SIGTERM}", "calls [3, 3, 3]",
                             "returned 0 1", "returned 1 0"):  # fmt: skip
                    self.assertIn(text, ran.stdout)
                self.assertRegex(ran.stdout, "(?s)is for the process of its rank.*forked child.*num_workers=0")
                self.assertEqual(ran.stdout.count("after"), 1 if words[1] == "-B" else 2)

    def test_ctrl_c_ends_a_run_whose_ranks_have_children(self):
        script = self.script(
            "import subprocess\n"
            "def train(session):\n"
            "    child = subprocess.Popen(['sleep', '60'])\n"
            "    for e in range(session.epochs):\n"
            "        for batch in session.epoch(e):\n"
            "            session.end_step()\n"
            "        if session.rank == 0:\n"
            "            print('epoch', e + 1)\n"
            f"troupe.run(train, {CORA!r}, set={{'output': {self.output()!r}, 'train.epochs': 100000}})\n"
        )
        run = Watched(sys.executable, "-B", script, folder=self.folder)
        run.wait_for("epoch 2")
        os.killpg(run.process.pid, signal.SIGINT)  # as a terminal does: their children get it, too
        self.assertEqual(run.end(), 130, run.text())
        self.assertIn("go on from", run.text())
        self.assertNotIn("KeyboardInterrupt", run.text())

    def test_a_rank_that_never_returns_does_not_hang_the_run(self):
        script = self.script(
            "def train(session):\n"
            "    if session.rank == 1:\n"
            "        raise ValueError('boom')\n"
            "    while True:\n"
            "        time.sleep(0.1)\n"
            f"troupe.run(train, {CORA!r}, set={{'output': {self.output()!r}}})\n"
        )
        ran = python(script, timeout=40)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("did not return within", ran.stderr)
        with open(os.path.join(self.output(), "report.json")) as file:
            report = json.load(file)
        self.assertEqual(report["status"], "failed")
        self.assertIn("boom", report["error"])

    def test_ctrl_c_waits_for_a_long_step_and_keeps_it(self):
        script = self.script(
            "def train(session):\n"
            "    session.on_save(lambda: b'1')\n"
            "    for batch in session.epoch(0):\n"
            "        print('step', session.global_step)\n"
            "        time.sleep(12)\n"  # longer than ranks have to return from a failure
            "        session.end_step()\n"
            f"troupe.run(train, {CORA!r}, set={{'output': {self.output()!r}}})\n"
        )
        run = Watched(sys.executable, "-u", "-B", script, folder=self.folder)
        run.wait_for("step 0")
        run.interrupt()
        self.assertEqual(run.end(), 130, run.text())
        self.assertRegex(run.text(), "go on from .*step-1 ")
        with open(os.path.join(self.output(), "report.json")) as file:
            self.assertEqual(json.load(file)["status"], "interrupted")

    def test_a_failed_run_does_not_end_the_process_once_all_ranks_have_returned(self):
        script = self.script(
            "def train(session):\n"
            "    raise ValueError('boom')\n"
            "try:\n"
            f"    troupe.run(train, {CORA!r}, set={{'output': {self.output()!r}}})\n"
            "except SystemExit as end:\n"
            "    time.sleep(11)\n"  # longer than ranks have to return
            "    print('still there after', end.code)\n"
        )
        ran = python(script, timeout=40)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("still there after 1", ran.stdout)
        self.assertNotIn("did not return within", ran.stderr)

    def test_a_hook_that_raises_ends_the_run(self):
        for hook in ("on_save(lambda: 1 / 0)", "on_save(lambda: 5)"):
            with self.subTest(hook):
                script = self.script(
                    "def train(session):\n"
                    f"    session.{hook}\n"
                    "    for batch in session.epoch(0):\n"
                    "        session.end_step()\n"
                    f"troupe.run(train, {CORA!r}, overwrite=True,\n"
                    f"           set={{'output': {self.output()!r}, 'checkpoint.every.steps': 1}})\n"
                )
                ran = python(script)
                self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
                self.assertRegex(ran.stderr, "ZeroDivisionError|TypeError")

    def test_the_lock_is_free_while_a_rank_waits(self):
        script = self.script(
            "turns = [0]\n"
            "def train(session):\n"
            "    if session.rank == 0:\n"
            "        session.barrier(30)\n"
            "    else:\n"
            "        for _ in range(200):\n"
            "            time.sleep(0.001)\n"
            "            turns[0] += 1\n"
            "        session.barrier(30)\n"
            f"troupe.run(train, {CORA!r}, set={{'output': {self.output()!r}}})\n"
            "print('turns', turns[0])\n"
        )
        ran = python(script)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("turns 200", ran.stdout)

    def test_threads_from_before_the_run_do_not_take_the_signal(self):
        """NumPy's BLAS has such threads; here one that computes for the whole run."""
        script = self.script(
            "def train(session):\n"
            "    for e in range(session.epochs):\n"
            "        for batch in session.epoch(e):\n"
            "            session.end_step()\n"
            "        if session.rank == 0:\n"
            "            print('epoch', e + 1)\n"
            "def wait():\n"
            "    while True:\n"
            "        time.sleep(0.01)\n"
            "for _ in range(4):\n"
            "    threading.Thread(target=wait, daemon=True).start()\n"
            f"troupe.run(train, {CORA!r}, set={{'output': {self.output()!r}, 'train.epochs': 100000}})\n"
        )
        for _ in range(3):
            run = Watched(sys.executable, "-B", script, folder=self.folder)
            run.wait_for("epoch 2")
            run.interrupt()
            self.assertEqual(run.end(), 130, run.text())
            self.assertIn("go on from", run.text())
            self.assertNotIn("KeyboardInterrupt", run.text())

    # ---- mistakes ----

    def test_a_turn_that_is_open_at_the_return_is_named(self):
        script = self.script(
            "def train(session):\n"
            "    for batch in session.epoch(0):\n"
            "        if session.global_step == 1:\n"
            "            return\n"
            f"troupe.run(train, {CORA!r}, set={{'output': {self.output()!r}}})\n"
        )
        for launch in ("simulate", "local"):
            with self.subTest(launch):
                ran = run_words(*self.under_troupe(script, first=["--overwrite"], cluster__launch=launch))
                self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
                self.assertEqual(ran.stderr.count("returned in step 2 of epoch(0), which is not counted"), 1, ran.stderr)
                self.assertIn("try: end_step() before the return", ran.stderr)

    def test_a_second_run_under_troupe_is_told(self):
        script = self.script(
            "for _ in range(2):\n"
            f"    troupe.run(lambda session: None, {CORA!r})\n"
        )  # fmt: skip
        ran = run_words(*self.under_troupe(script, cluster__launch="local"))
        self.assertEqual(ran.returncode, 2, ran.stdout + ran.stderr)
        self.assertIn("expected one run in a program of `troupe run`, found a second one in this process", ran.stderr)

    def test_text_that_is_no_utf8_is_told(self):
        script = self.script(
            "def train(session):\n"
            "    raise ValueError(os.fsdecode(b'caf\\xe9'))\n"
            f"troupe.run(train, {CORA!r}, set={{'output': {self.output()!r}}})\n"
        )
        ran = python(script)
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertRegex(ran.stderr, r"troupe: rank \d: ValueError: caf.udce9")

    def test_mistakes_are_told(self):
        def expect(text, code, problem, *words):
            ran = python(self.script(text), *words)
            self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
            self.assertIn(problem, ran.stderr)

        expect("troupe.run(print)\n", 2, "expected a job in TROUPE_JOB, found none")
        expect("troupe.run(5, 'job.json')\n", 1, "expected a function of a session, found int")
        expect("troupe.run(print, 5)\n", 1, "job: expected the path of a job file or a dict, found int")
        expect("troupe.run(print, {})\n", 2, "troupe: 2 problems in the job\n/dataset/path: ")
        expect("troupe.run(print, {'seed': object()})\n", 1, "job: expected a value of a job file, found object")
        expect("troupe.run(print, {'seed': float('nan')})\n", 1, "job: Out of range float values")
        expect("troupe.run(print, 'none.json')\n", 2, "none.json")
        expect(f"troupe.run(print, {CORA!r}, set={{'sample.fanouts': 3}})\n", 2, "/sample/fanouts")
        expect(f"troupe.run(print, {CORA!r}, set={{'output': 'a\\nb'}})\n", 1, "expected one line")
        expect(
            f"troupe.run(print, {CORA!r}, resume=True, set={{'output': {self.output()!r}}})\n",
            3,
            "expected a checkpoint that is whole",
        )

    def test_state_of_another_program_is_refused(self):
        text = (
            "def train(session):\n"
            "    session.keep(**{name: np.zeros(2) for name in sys.argv[1:]})\n"
            "    for e in range(session.first_epoch, session.epochs):\n"
            "        for batch in session.epoch(e):\n"
            "            session.end_step()\n"
            f"troupe.run(train, {CORA!r}, resume='b' in sys.argv, overwrite='b' not in sys.argv,\n"
            f"           set={{'output': {self.output()!r}, 'train.epochs': 2, 'checkpoint.every.steps': 1}})\n"
        )
        first = python(self.script(text), "a")
        self.assertEqual(first.returncode, 0, first.stderr)
        second = python(self.script(text), "b")
        self.assertEqual(second.returncode, 1, second.stdout)
        self.assertIn("expected the state of b, found that of a", second.stderr)


if __name__ == "__main__":
    unittest.main()
