"""Learned rows in programs of the user's: calls in this process, the example as processes."""

import json
import os
import unittest

import numpy as np
import support
from support import EXAMPLES, PROGRAM, Watched, line_of, run_words, with_settings

import troupe

LEARNED = os.path.join(EXAMPLES, "learned.json")
TABLE = {"embedding__node__dim": 3, "embedding__node__optimizer__kind": "sgd", "embedding__node__optimizer__lr": 1}


class Calls(support.Scratch):
    def test_gradients_of_a_turn_change_the_rows(self):
        def train(session):
            table = session.embedding("node")
            self.assertEqual((table.node_type, table.dim), ("node", 3))
            for same in (session.embedding(0), session.embedding()):  # by place; the only one
                self.assertEqual((same.node_type, same.dim), ("node", 3))
            nodes = np.array([5, 9, 5])
            before = table.rows(nodes)
            self.assertEqual((before.dtype, before.shape), (np.float32, (3, 3)))
            np.testing.assert_array_equal(before[0], before[2])
            with self.assertRaisesRegex(ValueError, "not a turn of an epoch"):
                table.gradient(nodes, np.zeros((3, 3)))
            for turn, batch in enumerate(session.epoch(0)):
                if turn == 0:  # the mean over this rank's seeds
                    table.gradient(nodes, np.ones((3, 3)))
                if turn == 1 and session.rank == 1:
                    table.gradient(nodes[:1], np.full((1, 3), 6), seeds=3, of_sum=True)
                    table.gradient(nodes[1:2], [[3, 3, 3]], seeds=3, of_sum=True)
                session.end_step()
                after = table.rows(nodes)
                done = np.array([[2], [1], [2]]) + (turn > 0) * np.array([[2], [1], [2]])
                np.testing.assert_allclose(after, before - done, rtol=1e-5)

        self.run_job(train, train__epochs=1, **TABLE)

    def test_ranks_without_seeds_hand_in_nothing(self):
        seen = []

        def train(session):
            table = session.embedding("node")
            for batch in session.epoch(0):
                table.gradient(batch.nodes, np.zeros((len(batch.nodes), 3)))
                seen.append(batch.seeds)
                session.end_step()

        self.run_job(train, train__epochs=1, sample__batch_size=50, **TABLE)
        self.assertEqual(min(seen), 0)

    def test_mistakes_are_told(self):
        def train(session):
            with self.assertRaisesRegex(troupe.Error, 'expected a node type with learned rows \\("node"\\)'):
                session.embedding("paper")
            with self.assertRaisesRegex(IndexError, "expected 0 to 0, got 1"):
                session.embedding(1)
            table = session.embedding("node")
            for batch in session.epoch(0):
                with self.assertRaisesRegex(ValueError, "seeds: expected 0 to .*, got -1"):
                    table.gradient([0], np.zeros((1, 3)), seeds=-1)
                with self.assertRaisesRegex(troupe.Error, "expected 1 rows of 3 columns, got 1 of 2"):
                    table.gradient([0], np.zeros((1, 2)), seeds=1)
                with self.assertRaisesRegex(TypeError, "two dimensions"):
                    table.gradient([0], np.zeros(3), seeds=1)
                with self.assertRaisesRegex(troupe.Error, "global ids below 2708"):
                    table.rows([2708])
                session.end_step()

        self.run_job(train, train__epochs=1, **TABLE)


class Triples(support.Scratch):
    """A knowledge graph with a score of the program's own."""

    def words(self, name, **changes):
        settings = {"dataset.path": self.path("store"), "output": self.path(name)}
        settings.update({key.replace("__", "."): value for key, value in changes.items()})
        job, program = (os.path.join(EXAMPLES, file) for file in ("triples.json", "train_triples.py"))
        return [PROGRAM, "run", job, *with_settings(settings), "--", support.sys.executable, "-B", program]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        family = os.path.join(support.SOURCE, "examples", "knowledge", "family")
        store = os.path.join(cls.folder, "store")
        made = run_words(PROGRAM, "import", "--from", "triples", "--relations", "one", family, store)
        assert made.returncode == 0, made.stderr

    def test_learn_the_same_rows_in_one_process_and_two(self):
        first = run_words(*self.words("simulate"))
        self.assertEqual(first.returncode, 0, first.stdout + first.stderr)
        self.assertGreater(float(line_of(first.stdout, "test mrr").split()[-1]), 0.4)
        other = run_words(*self.words("local", cluster__launch="local", partition__parts=3))
        self.assertEqual(other.returncode, 0, other.stdout + other.stderr)
        for word in ("batches", "rows", "test mrr"):
            self.assertEqual(line_of(first.stdout, word), line_of(other.stdout, word))

    def test_batches_are_those_of_the_built_in_trainer(self):
        built_in = self.words("built_in", train__epochs=2)
        built_in = run_words(*built_in[: built_in.index("--")])
        self.assertEqual(built_in.returncode, 0, built_in.stdout + built_in.stderr)
        replaced = []

        def train(session):
            facts = session.triples
            self.assertEqual(facts, (session.triples.relations, 64, 64))
            for e in range(session.epochs):
                for batch in session.epoch(e):
                    links = batch.links
                    chunks = -(-batch.seeds // facts.chunk)
                    self.assertEqual(links.candidates.reshape(-1, facts.candidates).shape, (chunks, 64))
                    self.assertLess(links.candidates.max(), len(batch.nodes))
                    self.assertTrue(((links.labels >= 0) & (links.labels < facts.relations)).all())
                    self.assertEqual(len(links.negative_sources), 0)
                    self.assertEqual(links.replaced, "tail" if (batch.epoch + batch.number) % 2 == 0 else "head")
                    replaced.append(links.replaced)
                    session.end_step()

        output = self.path("own")
        changes = {"dataset__path": self.path("store"), "train__epochs": 2, "output": output}
        self.run_job(train, os.path.join(EXAMPLES, "triples.json"), **changes)
        with open(os.path.join(output, "report.json")) as file:
            batches = json.load(file)["digests"]["batches"]
        self.assertIn(batches, line_of(built_in.stdout, "batches"))
        self.assertEqual(set(replaced), {"tail", "head"})

    def test_other_jobs_have_none(self):
        def train(session):
            self.assertIsNone(session.triples)

        self.run_job(train, train__epochs=1)


class Example(support.Scratch):
    """amazon_computers from learned rows alone."""

    def words(self, name, first=(), **changes):
        settings = {key.replace("__", "."): value for key, value in changes.items()}
        settings["output"] = self.path(name)
        program = os.path.join(EXAMPLES, "train_learned.py")
        return [PROGRAM, "run", LEARNED, *first, *with_settings(settings), "--", support.sys.executable, "-B", program,
                self.path(name) + ".npy"]  # fmt: skip

    def expect_same(self, name, text, other, other_text):
        for word in ("rows", "batches", "test accuracy"):
            self.assertEqual(line_of(text, word), line_of(other_text, word))
        np.testing.assert_array_equal(np.load(self.path(name) + ".npy"), np.load(self.path(other) + ".npy"))
        digests = []
        for run in (name, other):
            with open(os.path.join(self.path(run), "report.json")) as file:
                digests.append(json.load(file)["digests"]["tensors"])
        self.assertEqual(list(digests[0]), ["node"])
        self.assertEqual(*digests)

    def test_has_the_same_bits_in_one_process_and_two(self):
        first = run_words(*self.words("simulate"))
        self.assertEqual(first.returncode, 0, first.stdout + first.stderr)
        self.assertGreaterEqual(float(line_of(first.stdout, "test accuracy").split()[-1]), 0.85)
        for name, changes in (
            ("one_host", {"cluster__hosts": 1, "cluster__trainers_per_host": 2, "partition__parts": 3}),
            ("local", {"cluster__launch": "local"}),
            ("worker", {"cluster__launch": "local", "cluster__placement": "worker"}),
        ):
            with self.subTest(name):
                ran = run_words(*self.words(name, **changes))
                self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
                self.expect_same(name, ran.stdout, "simulate", first.stdout)

    def test_goes_on_after_ctrl_c_to_the_same_bits(self):
        whole = run_words(*self.words("whole", train__epochs=4))
        self.assertEqual(whole.returncode, 0, whole.stderr)
        for name, changes in (("stopped", {}), ("stopped_local", {"cluster__launch": "local"})):
            changes["train__epochs"] = 4
            with self.subTest(name):
                first = Watched(*self.words(name, **changes), folder=self.folder)
                first.wait_for("epoch 2: ")
                first.interrupt()
                self.assertEqual(first.end(), 130, first.text())
                self.assertIn("go on from", first.text())
                resumed = run_words(*self.words(name, first=["--resume"], **changes))
                self.assertEqual(resumed.returncode, 0, resumed.stdout + resumed.stderr)
                self.assertIn("resuming from", resumed.stdout)
                self.expect_same(name, resumed.stdout, "whole", whole.stdout)


if __name__ == "__main__":
    unittest.main()
