"""Calls of a session, in this process. Runs that fail are in process_test.py: they end their process."""

import json
import os
import pathlib
import threading
import unittest

import numpy as np
import support

import troupe


class Calls(support.Scratch):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.toy, cls.arrays = support.write_toy(cls._scratch.name + "/toy")

    def test_facts_of_the_job_and_its_graph(self):
        seen = {}

        def train(session):
            seen[session.rank] = session

        self.run_job(train, self.toy, train__epochs=7)
        session = seen[1]
        self.assertEqual(sorted(seen), [0, 1])
        self.assertEqual((session.world, session.role, session.devices), (2, "trainer", []))
        self.assertEqual([(s.local_rank, s.local_world) for s in (seen[0], seen[1])], [(0, 1), (0, 1)])
        self.assertEqual((session.columns, session.classes, session.seed), (6, 3, 3))
        self.assertEqual((session.epochs, session.first_epoch, session.steps_per_epoch), (7, 0, 2))
        user = session.graph.node_types[session.graph.node_type("user")]
        self.assertEqual(user, troupe.NodeType("user", 60, 6, 3, False, ("brain", "half", "small")))
        names = [t.name for t in session.graph.edge_types]
        self.assertEqual(names, ["buys", "rev_buys"])
        self.assertEqual(session.graph.edge_types[0][1:5], (1, 0, 400, 3))
        with self.assertRaisesRegex(RuntimeError, "has returned: its session is over"):
            session.global_step

    def test_ranks_name_their_devices_and_get_batches_in_host_memory(self):
        seen = {}

        def train(session):
            seen[session.rank] = (session.devices, session.local_rank, session.local_world)
            for batch in session.epoch(0):
                self.assertEqual(batch.features.shape[0], len(batch.nodes))

        self.run_job(train, self.toy, cluster__device="emulated:2", cluster__hosts=1, cluster__trainers_per_host=2)
        self.assertEqual(seen, {0: (["emulated:0"], 0, 2), 1: (["emulated:1"], 1, 2)})

    def test_two_runs_in_one_process_have_the_same_digest(self):
        digests = []

        def train(session):
            for e in range(session.epochs):
                for _ in session.epoch(e):
                    session.end_step()
            digests.append(session.digest)
            self.assertEqual(session.global_step, 90)

        self.run_job(train)
        self.run_job(train, overwrite=True)
        self.assertEqual(digests, [support.CORA_DIGEST] * 4)

    def test_objects_say_what_they_are(self):
        seen = {}

        def train(session):
            for batch in session.epoch(0):
                if session.rank == 0 and batch.number == 0:
                    item, buys = batch.nodes_of("item"), batch.edges_of("buys")
                    self.assertEqual(repr(item), f"Nodes('item', {len(item.ids)})")
                    self.assertEqual(repr(buys), f"Edges('buys', {len(buys.sources)})")
                    empty = [of.name for of in batch.all_edges if len(of) == 0]
                    self.assertTrue(repr(batch).startswith(f"Batch(epoch=0, number=0, seeds={batch.seeds}, nodes={{'"))
                    self.assertFalse(any(name in repr(batch) for name in empty))
                    self.assertIn(f"'buys': {len(buys)}", repr(batch))
                session.end_step()
            tensor = session.tensor("memory", rows=7, shape=(2, 3), dtype="float16")
            seen[session.rank] = repr(session), repr(tensor)

        self.run_job(train, self.toy)
        session, tensor = seen[0]
        self.assertTrue(session.startswith("Session(rank=0, world=2, device='cpu', graph=Graph(nodes={'"), session)
        self.assertEqual(tensor, "Tensor('memory', rows=7, shape=(2, 3), dtype='f16')")

    def test_values_may_be_paths_and_numbers_of_numpy(self):
        found = []

        def train(session):
            found.append((session.epochs, session.steps_per_epoch, session.seed))

        self.run_job(
            train,
            pathlib.Path(support.CORA),
            output=pathlib.Path(self.output()),
            train__epochs=np.int64(3),
            sample__fanout=np.array([4, 2]),
            sample__batch_size=np.uint16(35),
            sample__replace=np.bool_(True),
            train__optimizer__lr=np.float32(0.5),
            seed=np.uint64(2**64 - 1),
        )
        self.assertEqual(found, [(3, 2, 2**64 - 1)] * 2)
        with open(os.path.join(self.output(), "report.json")) as file:
            job = json.load(file)["job"]
        self.assertEqual(job["sample"]["fanout"], [4, 2])
        self.assertIs(job["sample"]["replace"], True)
        self.assertEqual(job["train"]["optimizer"]["lr"], 0.5)

    def test_values_that_no_job_file_has_are_named(self):
        with self.assertRaisesRegex(TypeError, "set: train.epochs: expected a value of a job file, found object"):
            self.run_job(print, train__epochs=object())
        with self.assertRaisesRegex(TypeError, "job: expected the path of a job file or a dict, found list"):
            self.run_job(print, [support.CORA])
        with self.assertRaisesRegex(ValueError, "set: expected one line"):
            self.run_job(print, output="a\nb")
        with self.assertRaisesRegex(ValueError, "resume, overwrite: expected one of them, found both"):
            self.run_job(print, resume=True, overwrite=True)

    def test_a_second_run_at_the_same_time_is_refused(self):
        """It would take the job of the first from the environment."""
        found = []

        def train(session):
            if session.rank == 0:
                with self.assertRaisesRegex(RuntimeError, "expected no run under way in this process, found one"):
                    self.run_job(found.append, output=self.path("nested"))
            session.barrier()
            found.append(session.rank)

        self.run_job(train)
        self.assertEqual(sorted(found), [0, 1])
        self.assertFalse([name for name in os.environ if name in ("TROUPE_JOB", "TROUPE_SET")])
        self.run_job(lambda session: found.append(session.rank), overwrite=True)
        self.assertEqual(len(found), 4)

    def test_hooks_and_keep_do_not_replace_each_other(self):
        def train(session):
            if session.rank == 0:
                session.keep(step=np.zeros(1))
                for hook in (session.on_save, session.on_restore):
                    with self.assertRaisesRegex(RuntimeError, "expected no keep.. before"):
                        hook(lambda *_: b"")
            else:
                session.on_save(lambda: b"")
                with self.assertRaisesRegex(RuntimeError, "keep: expected no on_save.. or on_restore.. before"):
                    session.keep(step=np.zeros(1))

        self.run_job(train)

    def test_another_thread_is_refused(self):
        def train(session):
            problems = []

            def elsewhere():
                try:
                    session.end_step()
                except RuntimeError as error:
                    problems.append(str(error))

            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            self.assertEqual(problems, ["a session is for the thread of its rank alone"])

        self.run_job(train)

    def test_seeds_of_all_ranks_are_those_of_the_split(self):
        shares = [None, None]
        edges = [None, None]

        def train(session):
            shares[session.rank] = session.seeds("train")
            edges[session.rank] = session.edges("buys")
            with self.assertRaisesRegex(troupe.Error, "expected a role") as raised:
                session.seeds("last")
            self.assertEqual(raised.exception.code, "not_found")

        self.run_job(train, self.toy)
        np.testing.assert_array_equal(np.concatenate([s.original_ids for s in shares]), self.arrays["train"])
        self.assertEqual([s.node_type for s in shares], [1, 1])
        self.assertIsNone(shares[0].times)
        self.assertEqual(sorted([*edges[0], *edges[1]]), list(range(400)))

    def test_links_of_all_ranks_are_those_of_the_split(self):
        shares = [None, None]
        batches = []

        def train(session):
            shares[session.rank] = session.links("train")
            batches.extend(batch for batch in session.epoch(0) if batch.seeds)

        self.run_job(train, self.toy, task__kind="link", dataset__split="bought", sample__batch_size=25,
                     sample__time__of="split")
        ends = np.concatenate([s.original_ids for s in shares], axis=1)
        order = np.lexsort(self.arrays["bought"])
        mine = np.lexsort(ends)
        np.testing.assert_array_equal(ends[:, mine], self.arrays["bought"][:, order])
        self.assertEqual(sorted(np.concatenate([s.times for s in shares])), sorted(self.arrays["bought_when"]))
        self.assertEqual(sorted(np.concatenate([s.labels for s in shares])), sorted(self.arrays["bought_value"]))
        for batch in batches:
            users, items = batch.nodes_of("user").original_ids, batch.nodes_of("item").original_ids
            pairs = np.stack([users[batch.links.sources], items[batch.links.destinations]])
            for pair, time, label in zip(pairs.T, batch.links.times, batch.links.labels):
                place = np.flatnonzero((self.arrays["bought_when"] == time) & (self.arrays["bought_value"] == label))
                np.testing.assert_array_equal(self.arrays["bought"][:, place[0]], pair)

    def test_original_ids_are_found(self):
        def train(session):
            ids = [7, 0, 59, 7]
            nodes = session.find_nodes(ids, "user")
            np.testing.assert_array_equal(session.read_rows(nodes, "user").original_ids, ids)
            self.assertEqual(len(session.find_nodes([], "user")), 0)
            for wrong, text in (([60], "60"), ([-1], "got -1 at 0")):
                with self.assertRaisesRegex(troupe.Error, text):
                    session.find_nodes(wrong, "user")
            with self.assertRaisesRegex(TypeError, "whole numbers"):
                session.find_nodes([0.5], "user")

        self.run_job(train, self.toy)

    def test_shares_of_ids_and_masks_cover_all_once(self):
        ids = np.array([5, 59, 5, 0, 33, 12, 40])
        mask = np.zeros(60, bool)
        mask[ids] = True
        bought = np.arange(0, 400, 7)
        bought_mask = np.zeros(400, bool)
        bought_mask[bought] = True
        shares = {}

        def train(session):
            for way in ("even", "local"):
                mine = {
                    "nodes": session.split_nodes(ids, way, "user"),
                    "mask": session.split_nodes(mask, way, "user"),
                    "seeds": session.split_seeds("train", way),
                }
                for name, share in mine.items():
                    np.testing.assert_array_equal(session.find_nodes(share.original_ids, "user"), share.nodes)
                    shares[way, name, session.rank] = share.original_ids
                shares[way, "edges", session.rank] = session.split_edges(bought, way, "buys")
                shares[way, "edge mask", session.rank] = session.split_edges(bought_mask, way, "buys")
            np.testing.assert_array_equal(mine["seeds"].original_ids, session.split_seeds("train", "local").original_ids)
            with self.assertRaisesRegex(ValueError, 'expected "even" or "local", got .near.'):
                session.split_nodes(ids, "near", "user")
            with self.assertRaisesRegex(troupe.Error, "mask"):
                session.split_nodes(mask[:5], node_type="user")
            with self.assertRaisesRegex(troupe.Error, "expected a job of links"):
                session.split_links("train")

        self.run_job(train, self.toy)
        whole = {"nodes": ids, "mask": np.flatnonzero(mask), "seeds": self.arrays["train"], "edges": bought,
                 "edge mask": bought}
        for way in ("even", "local"):
            for name, wanted in whole.items():
                both = np.concatenate([shares[way, name, rank] for rank in range(2)])
                np.testing.assert_array_equal(np.sort(both), np.sort(wanted), f"{way} {name}")
        np.testing.assert_array_equal(np.concatenate([shares["even", "nodes", r] for r in range(2)]), ids)

    def test_shares_of_links_cover_all_once(self):
        shares = {}

        def train(session):
            for way in ("even", "local"):
                shares[way, session.rank] = session.split_links("train", way)
            np.testing.assert_array_equal(shares["even", session.rank].nodes, session.links("train").nodes)
            self.assertIsNone(session.links("train").edge_types)

        self.run_job(train, self.toy, task__kind="link", dataset__split="bought", sample__batch_size=25)
        for way in ("even", "local"):
            ends = np.concatenate([shares[way, r].original_ids for r in range(2)], axis=1)
            values = np.concatenate([shares[way, r].labels for r in range(2)])
            for pair, value in zip(ends.T, values):
                place = np.flatnonzero(self.arrays["bought_value"] == value)
                self.assertTrue((self.arrays["bought"][:, place].T == pair).all(axis=1).any())
            self.assertEqual(ends.shape, self.arrays["bought"].shape)

    def test_rows_columns_and_neighbors_of_any_nodes(self):
        def train(session):
            seeds = session.seeds("train")
            rows = session.read_rows(seeds.nodes, "user")
            np.testing.assert_array_equal(rows.original_ids, seeds.original_ids)
            np.testing.assert_array_equal(rows.features, self.arrays["x_user"][seeds.original_ids])
            np.testing.assert_array_equal(rows.labels, self.arrays["y_user"][seeds.original_ids])
            self.assertIsNone(rows.targets)
            np.testing.assert_array_equal(rows.columns["small"], self.arrays["small"][seeds.original_ids])
            half = session.read_column("half", seeds.nodes, "user")
            np.testing.assert_array_equal(half, self.arrays["half"][seeds.original_ids])
            degrees = session.degrees(seeds.nodes, "rev_buys")
            bought = np.bincount(self.arrays["edges"][0], minlength=60)
            np.testing.assert_array_equal(degrees, bought[seeds.original_ids])
            batch = session.sample_neighbors(list(seeds.nodes), [-1, 2], node_type="user", with_rows=True)
            np.testing.assert_array_equal(batch.original_ids[batch.seed_index], seeds.original_ids)
            self.assertEqual(len(batch.edges_of("rev_buys")) >= bought[seeds.original_ids].sum(), True)
            np.testing.assert_array_equal(batch.labels, rows.labels)
            again = session.sample_neighbors(seeds.nodes, [-1, 2], node_type="user")
            np.testing.assert_array_equal(again.edges_of("buys").sources, batch.edges_of("buys").sources)
            self.assertIsNone(again.features)
            sources, destinations = session.find_edges([3, 399, 3], "buys")
            users, items = session.read_rows(sources, "user"), session.read_rows(destinations, "item")
            pairs = np.stack([users.original_ids, items.original_ids])
            np.testing.assert_array_equal(pairs, self.arrays["edges"][:, [3, 399, 3]])

        self.run_job(train, self.toy)

    def test_mistakes_are_told(self):
        def train(session):
            def expect(kind, text, call, *arguments, **more):
                with self.assertRaisesRegex(kind, text):
                    call(*arguments, **more)

            nodes = session.seeds("train").nodes
            expect(troupe.Error, "node", session.read_rows, [10**9], "user")
            expect(troupe.Error, "nodes: expected ids from 0 .*, got -1 at 1", session.read_rows, [3, -1], "user")
            too_large = np.array([2**64 - 1], np.uint64)
            expect(troupe.Error, "got 18446744073709551615 at 0", session.read_rows, too_large, "user")
            expect(troupe.Error, "fanout", session.sample_neighbors, nodes, [-2], node_type="user")
            expect(troupe.Error, "column", session.read_column, "none", nodes, "user")
            expect(TypeError, "whole numbers", session.read_rows, [0.5], "user")
            expect(ValueError, "expected one of item, user, since there are several", session.read_rows, nodes)
            expect(KeyError, "expected one of item, user", session.read_rows, nodes, "shop")
            expect(IndexError, "expected 0 to 1, got 2", session.read_rows, nodes, 2)
            expect(ValueError, '"in" or "out"', session.degrees, nodes, "buys", direction="up")
            expect(TypeError, 'float32.*found one of format "d" without', session.all_reduce, np.zeros(3))
            expect(TypeError, 'float32.*found.*"f" with gaps', session.all_reduce, np.zeros((3, 4), np.float32)[:, :2])
            expect(ValueError, "read-only", session.all_reduce, session.read_rows(nodes, "user").features)
            expect(TypeError, "float32", session.all_reduce_gradients, np.zeros(3), seeds=1)
            expect(ValueError, "not a turn of an epoch", session.all_reduce_gradients, np.zeros(3, np.float32))
            expect(troupe.Error, "none was made", session.tensor, "memory")
            expect(TypeError, "state_dict", session.keep, name="text")
            ones = np.ones(2, np.float32)
            for number in (-1, 2**32):
                expect(ValueError, f"epoch: expected 0 to 4294967295, got {number}", session.epoch, number)
                expect(ValueError, "epoch: expected 0 to 4294967295", session.sample_neighbors, nodes, [2],
                       node_type="user", epoch=number)
            expect(ValueError, "number: expected", session.sample_neighbors, nodes, [2], node_type="user", number=-1)
            expect(TypeError, "epoch: expected a whole number, got 0.5", session.epoch, 0.5)
            expect(TypeError, "fanout: expected a whole number, got 2.5", session.sample_neighbors, nodes, [2.5], node_type="user")
            expect(ValueError, "fanout: expected numbers from -1", session.sample_neighbors, nodes, [2**40], node_type="user")
            batch = session.sample_neighbors(nodes, [2], node_type="user")
            expect(ValueError, "layer: expected 0 to .*, got -1", batch.block, -1, 1, "buys")
            expect(TypeError, "layers: expected a whole number, got 1.5", batch.block, 0, 1.5, "buys")
            expect(TypeError, "node type: expected a whole number, got 0.5", session.read_rows, nodes, 0.5)
            expect(ValueError, "init: expected .* got 'normal'", session.tensor, "t", (), node_type="user", init="normal")
            expect(ValueError, "weight: expected 0 to .*, got -2", session.all_reduce_mean, ones, -2)
            expect(TypeError, "weight: expected a whole number, got 1.5", session.all_reduce_mean, ones, 1.5)
            expect(ValueError, "seeds: expected 0 to .*, got -1", session.all_reduce_gradients, ones, seeds=-1)
            expect(ValueError, "rows: expected 0 to .*, got -1", session.tensor, "t", (2,), rows=-1)
            expect(ValueError, "shape: expected 0 to .*, got -2", session.tensor, "t", (2, -2), node_type="user")
            for seconds in (float("inf"), float("nan"), -1, -float("inf")):
                expect(ValueError, f"seconds: expected a finite number from 0 on, got {seconds}", session.barrier, seconds)
            session.barrier(1e300)

        self.run_job(train, self.toy)

    def test_what_ranks_do_together(self):
        def train(session):
            mine = np.full((2, 3), 10.0**session.rank, np.float32)
            session.all_reduce(mine)
            np.testing.assert_array_equal(mine, np.full((2, 3), 11))
            values = np.array([1 + session.rank, 4], np.float32)
            self.assertEqual(session.all_reduce_mean(values, 1 + 2 * session.rank), 4)
            np.testing.assert_array_equal(values, [0.75, 2])
            gradients = [np.full(2, 1 + session.rank, np.float32), np.full((1, 2), 8 * session.rank, np.float32)]
            session.all_reduce_gradients(gradients, seeds=1 + 2 * session.rank)  # means of 1 and of 3
            np.testing.assert_array_equal(gradients[0], [1.75, 1.75])
            np.testing.assert_array_equal(gradients[1], [[6, 6]])
            parameters = np.array([session.rank + 0.1, np.inf if session.rank else 1], np.float32)
            session.broadcast(parameters)
            np.testing.assert_array_equal(parameters, np.array([0.1, 1], np.float32))
            session.barrier(30)

        self.run_job(train, self.toy)

    def test_gradients_are_weighted_by_the_seeds_of_the_turn(self):
        totals = []

        def train(session):
            for batch in session.epoch(0):
                value = np.array([np.nan if batch.seeds == 0 else batch.seeds], np.float32)
                totals.append((session.all_reduce_gradients(value), value[0]))

        self.run_job(train, self.toy, sample__batch_size=20)  # 30 seeds: 20 and 10
        self.assertEqual(totals, [(30, np.float32((20 * 20 + 10 * 10) / 30))] * 2)
        totals.clear()
        self.run_job(train, self.toy, overwrite=True, sample__batch_size=30)  # rank 1 has none
        self.assertEqual(totals, [(30, 30)] * 2)

    def test_state_comes_back_when_resumed(self):
        seen = []

        def train(session):
            step = np.zeros(1, np.int64)
            session.keep(step=step)
            session.keep(words=np.array([[session.rank, 2.5]]), file=np.zeros(2), allow_pickle=np.ones(1))
            for e in range(session.first_epoch, session.epochs):
                for _ in session.epoch(e):
                    step += 1
                    session.end_step()
                seen.append((session.rank, e, int(step[0]), session.global_step, session.digest))

        self.run_job(train, self.toy, checkpoint__every__steps=1, train__epochs=3)
        whole = sorted(seen)
        seen.clear()
        self.run_job(train, self.toy, checkpoint__every__steps=1, train__epochs=2, output=self.path("resumed"))
        self.run_job(train, self.toy, resume=True, train__epochs=3, output=self.path("resumed"))
        self.assertEqual(sorted(set(seen)), whole)

    def test_rows_of_no_nodes_have_what_the_type_has(self):
        def train(session):
            rows = session.read_rows([], "user")
            self.assertEqual((rows.features.shape, rows.labels.shape, rows.labels.dtype), ((0, 6), (0,), np.int64))
            self.assertEqual((rows.original_ids.shape, rows.columns["small"].shape), ((0,), (0, 2)))
            self.assertIsNone(rows.targets)
            self.assertIsNone(session.read_rows([], "item").labels)

        self.run_job(train, self.toy)

    def test_a_later_epoch_replaces_the_iterator(self):
        def train(session):
            first, second = session.epoch(0), session.epoch(1)
            with self.assertRaisesRegex(troupe.Error, r"epoch 0: .*epoch\(1\)") as replaced:
                next(first)
            self.assertEqual(replaced.exception.code, "failed_precondition")
            self.assertEqual([batch.epoch for batch in second], [1, 1])
            self.assertEqual(list(second), [])
            third, again = session.epoch(2), session.epoch(2)
            with self.assertRaisesRegex(troupe.Error, r"epoch 2: .*epoch\(2\)"):
                list(third)
            self.assertEqual([batch.epoch for batch in again], [2, 2])

        self.run_job(train, self.toy, train__epochs=3)

    def test_an_epoch_may_be_left(self):
        def train(session):
            for _ in session.epoch(0):
                break
            self.assertEqual([batch.epoch for batch in session.epoch(1)], [1, 1])

        self.run_job(train, self.toy)

    def test_calls_of_all_ranks_inside_seeded_are_refused(self):
        """They would wait for ranks that wait for the generators."""

        def train(session):
            turns = session.epoch(0)
            next(turns)
            calls = (
                session.end_step, session.barrier, lambda: session.epoch(1), lambda: session.all_reduce(np.zeros(1, np.float32)),
                lambda: session.all_reduce_gradients(np.zeros(1, np.float32)), lambda: session.broadcast(np.zeros(1, np.float32)),
                lambda: session.tensor("t", (), rows=1), lambda: session.delete_tensor("t"),
            )  # fmt: skip
            for call in calls:
                with troupe.seeded(1), troupe.seeded(2), self.assertRaisesRegex(RuntimeError, "inside seeded"):
                    call()
            with troupe.seeded(1), self.assertRaisesRegex(RuntimeError, "inside seeded"):
                next(turns)
            session.barrier()

        self.run_job(train)

        def alone(session):
            with troupe.seeded(1):
                session.barrier()

        self.run_job(alone, overwrite=True, cluster__hosts=1)

    def test_seeded_gives_the_same_numbers_beside_other_threads(self):
        before = np.random.get_state()[1].tolist()
        found = []

        def draw(rank):
            with troupe.seeded(5, rank):
                found.append((rank, np.random.random(3).tolist()))

        threads = [threading.Thread(target=draw, args=(i % 2,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len({str(pair) for pair in found}), 2)
        self.assertEqual(np.random.get_state()[1].tolist(), before)


if __name__ == "__main__":
    unittest.main()
