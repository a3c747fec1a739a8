#!/usr/bin/env python3
"""Markdown tables of a result file of run.py: medians over the rounds, beside Troupe's of the same rounds."""

import collections
import json
import statistics
import sys

NAMES = {"dgl": "DGL", "graphbolt": "GraphBolt", "pyg": "PyG", "glt": "GLT", "pymetis": "pymetis"}
GRAPHS = {"rmat": "R-MAT", "rmat8": "R-MAT/8"}
TITLES = {
    ("loader", False): "Sampling, ms per batch",
    ("loader", True): "Sampling and rows, ms per batch",
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


def print_contests(bench, features, lines):
    groups = collections.defaultdict(lambda: {"theirs": [], "ours": []})
    for line in lines:
        if line["kind"] == "turn" and line["bench"] == bench and line.get("features") == features:
            groups[line["beside"]]["ours" if line["system"] == "troupe" else "theirs"].append(line)
    rows = []
    for peer, group in groups.items():
        if not group["theirs"] or not group["ours"]:
            continue
        theirs, ours = summary(group["theirs"]), summary(group["ours"])
        faster = ours[0] / theirs[0] if bench == "two_hosts" else theirs[0] / ours[0]
        settings = [setting_text(bench, line["system"], line["setting"]) for line in (group["theirs"][0], group["ours"][0])]
        rows.append(
            [NAMES[peer], frontier_text(group["ours"][0]), shown(*theirs), shown(*ours), f"{faster:.1f}", "; ".join(settings)]
        )
    if rows:
        graph = next(line["graph"] for line in lines if line.get("bench") == bench and "graph" in line)
        print(f"{TITLES[bench, features]} ({GRAPHS[graph]}):\n")
        print_table(["peer", "frontier", "peer's", "Troupe's", "Troupe is times as fast", "settings"], rows)


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
    print_contests("loader", False, lines)
    print_contests("loader", True, lines)
    print_contests("train", None, lines)
    print_contests("two_hosts", None, lines)
    print_metis(lines)
    print_accuracy(lines)
    print_left_out(lines)


if __name__ == "__main__":
    main()
