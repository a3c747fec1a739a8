"""Computes the golden batches beside it (batches/*.txt) again, in NumPy, and compares every array.

    python3 check_batches.py              compares; names each line that differs
    python3 check_batches.py --selftest   changes each array in turn, which must be found

The graphs, settings and seeds are read from the files; batch_reference.py computes the rest from
docs/design.md alone. On Debian it needs the package python3-numpy.
"""
import pathlib
import re
import sys

try:
    import numpy
except ImportError:
    sys.exit(f"expected NumPy, {sys.executable} has none; try: apt-get install python3-numpy, "
             "and the interpreter /usr/bin/python3")
import batch_reference as reference

FOLDER = pathlib.Path(__file__).resolve().parent / "batches"
FILES = ["small.txt", "weighted.txt", "disjoint.txt", "temporal.txt",
         "weighted_temporal.txt", "links.txt", "hetero.txt", "labor.txt", "subgraph.txt",
         "walks.txt", "seed_orders.txt"]


def numbers(text):
    return [int(word) for word in text.split()]


def joined(values):
    return " ".join(str(value) for value in values)


def number_after(words, title, default=0):
    """The number behind `words` in a title; "2^32 + 1" is one too."""
    found = re.search(words + r" (?:2\^(\d+) \+ )?(\d+)", title)
    if found is None:
        return default
    return int(found[2]) + (2 ** int(found[1]) if found[1] else 0)


def read_graph(lines):
    """Edge types and number of node types from "in-lists" and the indented lines behind them."""
    in_file = []
    edge_types, lists, problems, weights, times = [], [], [], [], []
    for line in lines:
        if line.startswith("in-lists"):
            types = re.search(r"node types (\d+) to (\d+)", line)
            edge_types.append([int(types[1]), int(types[2])] if types else [0, 0])
            lists.append([])
        elif line.startswith("weights:"):
            weights = [float(numpy.float32(word)) for word in line.split()[1:]]
        elif line.startswith("times:"):
            times = [int(word) for word in line.split()[1:]]
        elif line.startswith("  "):
            node, rest = line.split(":")
            found = [(int(a), int(b)) for a, b in re.findall(r"(\d+) \(edge (\d+)\)", rest)]
            lists[-1] += [(edge, neighbor, int(node)) for neighbor, edge in found]
            in_file.append((len(lists) - 1, int(node), found))
    made = []
    for (source, destination), of_type in zip(edge_types, lists):
        of_type.sort()
        if [edge for edge, _, _ in of_type] != list(range(len(of_type))):
            problems.append(f"edge ids of type {len(made)} are not 0 to {len(of_type) - 1}")
        edges = [(neighbor, node) for _, neighbor, node in of_type]
        made.append(reference.EdgeType(source, destination, edges, weights, times))
    for number, node, found in in_file:
        if found != made[number].neighbor_lists(False).get(node, []):
            problems.append(f"not in order of time, neighbor and edge: node {node} of type {number}")
    return made, 1 + max(max(pair) for pair in edge_types), problems


def seed_times_of(title):
    found = re.search(r" times ([^,]*),", title)
    return [int(word) for word in found[1].split()] if found else []


def reversed_types_of(title):
    found = re.search(r"reversed types ([-\d ]*),", title)
    return [int(word) for word in found[1].split()] if found else []


def links_of(title):
    """The links that a title names, if its batch is one of links."""
    found = re.search(r", links of type (\d+), (binary|triplet) (\d+) tries (\d+)", title)
    if not found:
        return None
    left_out = re.search(r"excluded with type (\d+)", title)
    pairs = [tuple(map(int, pair.split(">"))) for pair in title.split(", links ")[-1].split()]
    return reference.Links(
        int(found[1]), pairs, found[2] == "binary", int(found[3]), int(found[4]),
        "strict" in title, "by degree" in title, int(left_out[1]) if left_out else -1)


def links_lines(links):
    sources, destinations = zip(*links.positives)
    drawn_sources, drawn_destinations = zip(*links.negatives)
    return [f"links: sources {joined(sources)} | destinations {joined(destinations)}",
            f"  negative sources {joined(drawn_sources)} | destinations "
            f"{joined(drawn_destinations)} | edges drawn {links.edges_drawn}"]


def node_counts(edge_types, node_types):
    """One more than the largest id that a type has in the lists, which name all nodes."""
    counts = [0] * node_types
    for of_type in edge_types:
        for source, destination in of_type.edges:
            counts[of_type.source_type] = max(counts[of_type.source_type], source + 1)
            counts[of_type.destination_type] = max(counts[of_type.destination_type],
                                                   destination + 1)
    return counts


def expected_batch(title, job_seed, edge_types, node_types):
    fanouts = re.match(r"fanout ([^,]*),", title)[1].replace("all", "-1").split("/")
    settings = reference.Settings(
        [numbers(text) for text in fanouts], job_seed, replace="with replacement" in title,
        outwards="outwards" in title, frontier_all="frontier all" in title,
        by_weight="by weight" in title, disjoint="disjoint" in title, last=", last," in title,
        inclusive="up to times" in title, window=number_after("window", title),
        seed_times=seed_times_of(title), labor="labor" in title, shared="shared" in title,
        induced="induced" in title, reversed_types=reversed_types_of(title))
    epoch = number_after("epoch", title) | (reference.EVALUATION if "evaluation" in title else 0)
    number = number_after("batch", title)
    links = links_of(title)
    if links:
        seeds = links.draw(node_counts(edge_types, node_types), edge_types, job_seed, epoch, number)
    else:
        seeds = numbers(title.split("seeds ")[1])
    batch = reference.sample(node_types, edge_types, settings, seeds,
                             number_after("seed type", title), epoch, number, links)
    lines = ["seed_index " + joined(batch.seed_index)] + (links_lines(links) if links else [])
    for type_number, of_type in enumerate(batch.nodes):
        lines.append(f"nodes {type_number}: {joined(of_type.originals)} | "
                     f"hop_end {joined(of_type.hop_end)}")
        if settings.disjoint and of_type.trees:
            lines.append(f"  trees {joined(of_type.trees)}")
    for type_number, of_type in enumerate(batch.edges):
        lines.append(f"edges {type_number}: row_begin {joined(of_type.row_begin)}")
        lines.append(f"  offsets {joined(of_type.offsets)}")
        lines.append(f"  sources {joined(of_type.sources)}")
        lines.append(f"  edge ids {joined(of_type.edge_ids)}")
    return lines


def expected_walks(title, job_seed, edge_types, node_types):
    walks = reference.Walks(
        number_after("steps", title), number_after("walks of a seed", title),
        number_after("restart below", title),
        numbers(re.search(r"along ([\d ]*),", title)[1]),
        numbers(title.split("thresholds ")[1].split(",")[0]) if "thresholds" in title else [])
    outwards = "outwards" in title
    epoch = number_after("epoch", title) | (reference.EVALUATION if "evaluation" in title else 0)
    seeds = numbers(title.split("seeds ")[1])
    rows = walks.walk(edge_types, job_seed, outwards, seeds, epoch, number_after("batch", title))
    types = walks.node_types(edge_types, outwards)
    nodes = [[] for _ in range(node_types)]
    for column, type in enumerate(types):
        for node in seeds if column == 0 else [row[column] for row in rows]:
            if node is not None and node not in nodes[type]:
                nodes[type].append(node)
    return (["walk " + joined(-1 if node is None else node for node in row) for row in rows]
            + ["restarts " + joined(walks.restarts), f"undecided {walks.undecided}"]
            + [f"nodes {number}: {joined(of_type)}" for number, of_type in enumerate(nodes)])


def expected_order(title, job_seed):
    size, epoch = number_after("batch size", title), number_after("epoch", title)
    node_type = number_after("node type", title)
    if title.startswith("local"):
        shares = [numbers(text) for text in re.search(r"shares ([^,]*),", title)[1].split("|")]
        count = sum(-(-len(share) // size) for share in shares)
        batches = [reference.local_seed_positions(job_seed, shares, size, b, epoch, node_type)
                   for b in range(count)]
    else:
        seeds = number_after("global,", title)
        count = 1 if "first batch" in title else -(-seeds // size)
        batches = [reference.seed_positions(job_seed, seeds, size, b, epoch, node_type)
                   for b in range(count)]
    return [f"batch {number}: {joined(batch)}" for number, batch in enumerate(batches)]


def differences(text):
    """What of one golden file is not as computed here."""
    head, *sections = text.rstrip("\n").split("\n\n")
    head_lines = head.split("\n")
    job_seed = number_after("job seed", head_lines[0])
    orders = len(head_lines) == 1
    edge_types, node_types, problems = ([], 0, []) if orders else read_graph(head_lines[1:])
    if not sections:
        problems.append("no batch in it")
    for section in sections:
        title, *found = section.split("\n")
        if orders:
            expected = expected_order(title, job_seed)
        elif "walks of a seed" in title:
            expected = expected_walks(title, job_seed, edge_types, node_types)
        else:
            expected = expected_batch(title, job_seed, edge_types, node_types)
        if len(found) != len(expected):
            problems.append(f"{title}: expected {len(expected)} lines, found {len(found)}")
        problems += [f"{title}: expected \"{ours.strip()}\", found \"{theirs.strip()}\""
                     for ours, theirs in zip(expected, found) if ours != theirs]
    return problems


def compare():
    count = 0
    for name in FILES:
        text = (FOLDER / name).read_text()
        for problem in differences(text):
            print(f"{name}: {problem}")
            count += 1
        print(f"{name}: {text.count(chr(10) * 2)} sections compared")
    left = sorted(path.name for path in FOLDER.iterdir() if path.name not in FILES)
    if left:
        print(f"expected {', '.join(FILES)} in {FOLDER}, found also: {', '.join(left)}")
    return 1 if count or left else 0


def selftest():
    """Another last digit in the first or the last number of a line must be found."""
    changed, missed = 0, 0
    for name in FILES:
        head, *sections = (FOLDER / name).read_text().split("\n\n")
        for section in sections:
            title, *lines = section.split("\n")
            for at, line in enumerate(lines):
                digits = list(re.finditer(r"(?<=[ \d])\d(?= |$)", line))
                for digit in {digits[0], digits[-1]} if digits else ():
                    other = str((int(digit[0]) + 1) % 10)
                    wrong = line[:digit.start()] + other + line[digit.end():]
                    text = "\n".join([title, *lines[:at], wrong, *lines[at + 1:]])
                    changed += 1
                    if not differences(head + "\n\n" + text):
                        print(f"{name}: {title}: a changed number was not found: {wrong}")
                        missed += 1
    print(f"{changed} numbers changed, {missed} of them not found")
    return 1 if missed or not changed else 0


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--selftest"]):
        sys.exit(__doc__)
    sys.exit(selftest() if sys.argv[1:] else compare())
