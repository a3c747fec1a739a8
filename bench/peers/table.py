#!/usr/bin/env python3
"""Markdown tables of a result file of run.py: medians over the rounds, beside Troupe's of the same rounds."""

import collections
import json
import statistics
import sys

NAMES = {"dgl": "DGL", "graphbolt": "GraphBolt", "pyg": "PyG", "glt": "GLT", "pymetis": "pymetis", "torch": "torch"}
GRAPHS = {"rmat": "R-MAT", "rmat8": "R-MAT/8"}
TITLES = {
    ("loader", False): "Sampling, ms per batch",
    ("loader", True): "Sampling and rows, ms per batch",
    ("labor", False): "Sampling by LABOR, ms per batch",
    ("labor", True): "Sampling by LABOR, and rows, ms per batch",
    ("weighted", False): "Sampling by weight, ms per batch",
    ("links", False): "Sampling from links, ms per batch",
    ("train", None): "Training step, ms",
    ("two_hosts", None): "Two hosts, batches/s",
}


def values(line):
    return line["batches_per_s"] if "batches_per_s" in line else [line["ms_per_batch"]]


def summary(lines):
    """Median of all rounds, and the least and the most."""
    all_values = [value for line in lines for value in values(line)]
    return statistics.median(all_values), min(all_values), max(all_values)


def shown(median, least, most):
    return f"{median:.1f} ({least:.1f}–{most:.1f})"


def edges_per_second(lines):
    """Millions, the median of all rounds; none of hosts, which count batches."""
    return statistics.median(line["edges_per_batch"] / line["ms_per_batch"] / 1e3 for line in lines)


def content(lines):
    """Edges and distinct nodes of a batch, in thousands."""
    return f"{lines[-1]['edges_per_batch'] / 1e3:.1f}, {lines[-1]['rows_per_batch'] / 1e3:.1f}"


def setting_text(bench, system, setting):
    """Of a peer: threads + workers; of Troupe: batches in flight x samplers."""
    if bench == "two_hosts" and system == "dgl":
        return f"{setting[0]} samplers, {'GraphBolt' if setting[1] else 'DGL'} graph"
    if bench == "two_hosts" and system == "glt":
        return f"{setting[0]}, {setting[1]} at once"
    if system == "troupe":
        return f"{setting[0]} × {setting[1]}"
    return f"{setting[0]} + {setting[1]}"


def frontier_text(line):
    return line["frontier"] + (", with replacement" if line["replace"] else "")


def print_table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|---|---|" + "--:|" * (len(header) - 3) + "---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def groups_of(bench, features, lines):
    """The turns of each peer, and Troupe's beside it."""
    groups = collections.defaultdict(lambda: {"theirs": [], "ours": []})
    for line in lines:
        if line["kind"] == "turn" and line["bench"] == bench and line.get("features") == features:
            groups[line["beside"]]["ours" if line["system"] == "troupe" else "theirs"].append(line)
    return {peer: group for peer, group in groups.items() if group["theirs"] and group["ours"]}


def print_contests(bench, features, lines):
    rows, rates = [], []
    loads = features is not None  # else it trains, or counts the batches of two hosts
    for peer, group in groups_of(bench, features, lines).items():
        theirs, ours = summary(group["theirs"]), summary(group["ours"])
        faster = ours[0] / theirs[0] if bench == "two_hosts" else theirs[0] / ours[0]
        row = [NAMES[peer], frontier_text(group["ours"][0]), shown(*theirs), shown(*ours), f"{faster:.1f}"]
        if loads:
            rates.append((edges_per_second(group["theirs"]), edges_per_second(group["ours"]), NAMES[peer]))
            row += [f"{rates[-1][0]:.1f}", f"{rates[-1][1]:.1f}", content(group["theirs"]), content(group["ours"])]
        settings = [setting_text(bench, line["system"], line["setting"]) for line in (group["theirs"][0], group["ours"][0])]
        rows.append(row + ["; ".join(settings)])
    if not rows:
        return
    graph = next(line["graph"] for line in lines if line.get("bench") == bench and "graph" in line)
    print(f"{TITLES[bench, features]} ({GRAPHS[graph]}):\n")
    header = ["peer", "frontier", "peer's", "Troupe's", "Troupe is times as fast"]
    if loads:
        header += ["peer's M edges/s", "Troupe's", "peer's edges, nodes, thousands", "Troupe's"]
    print_table(header + ["settings"], rows)
    if loads:
        theirs, ours, name = max(rates)
        print(f"The fastest peer, {name}, has {theirs:.1f} M edges/s, Troupe beside it {ours:.1f} M: {ours / theirs:.1f} times.\n")


def print_metis(lines):
    cells = collections.defaultdict(dict)
    for line in lines:
        if line["kind"] == "turn" and line["bench"] == "metis":
            cells[line["graph"], line["parts"]][line["system"]] = line
    if not cells:
        return
    print("**METIS, one try, median of five seeds: cut in per cent (largest part over average; seconds)**\n")
    print("| graph | parts | Troupe | pymetis |\n|---|--:|--:|--:|")
    for (graph, parts), systems in cells.items():
        texts = [
            f"{line['cut_percent']:.2f} ({line['largest_part']:.3f}; {line['seconds']:.2f})" if line else "–"
            for line in (systems.get("troupe"), systems.get("pymetis"))
        ]
        print(f"| {graph} | {parts} | {texts[0]} | {texts[1]} |")
    print()


def print_inference(lines):
    group = groups_of("inference", None, lines).get("torch")
    if group:
        theirs, ours = ([line["seconds"] for line in group[side]] for side in ("theirs", "ours"))
        medians = statistics.median(theirs), statistics.median(ours)
        print("Exact inference, s (least–most):\n\n| torch | Troupe | Troupe / torch |\n|--:|--:|--:|")
        cells = [f"{median:.1f} ({min(all):.1f}–{max(all):.1f})" for median, all in zip(medians, (theirs, ours))]
        print(f"| {cells[0]} | {cells[1]} | {medians[1] / medians[0]:.2f} |\n")


def print_accuracy(lines):
    cells = collections.defaultdict(dict)
    for line in lines:
        if line["kind"] == "accuracy":
            cells[line["job"]][line["system"]] = f"{line['test_mean']:.2f} ± {line['test_sd']:.2f} ({len(line['tests'])})"
    if cells:
        print("**Test scores in per cent (seeds)**\n\n| job | Troupe | PyG |\n|---|--:|--:|")
        for job, systems in cells.items():
            print(f"| {job} | {systems.get('troupe', '–')} | {systems.get('pyg', '–')} |")
        print()


def print_left_out(lines):
    for line in lines:
        if line["kind"] == "skipped":
            print(f"Skipped: {line['bench']}, {NAMES[line['system']]}: {line['skipped']}")
    busy = [line["other_cpu"] for line in lines if line["kind"] == "turn"]
    if busy:
        print(f"Others kept {statistics.median(busy):.2f} cores busy in the median of the turns, at most {max(busy):.2f}.")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: table.py RESULTS.jsonl")
    with open(sys.argv[1]) as file:
        lines = [json.loads(line) for line in file]
    about = next(line for line in lines if line["kind"] == "about")
    flags = " ".join(f"{key}={value}" for key, value in about["flags"].items())
    print(f"Commit {about['commit']}, {about['processor']}, cores {about['cores']}, {flags}, {about['date']}\n")
    for bench, features in TITLES:
        print_contests(bench, features, lines)
    print_inference(lines)
    print_metis(lines)
    print_accuracy(lines)
    print_left_out(lines)


if __name__ == "__main__":
    main()
