#!/usr/bin/env python3
"""Plots of a result file of growth.py: growth_SWEEP.svg in FOLDER for each sweep, and with --table a table of its points.

    plot_growth.py RESULTS.jsonl FOLDER [--table]
"""

import argparse
import json
import math
import os

# Key of the quantity that grows in a sweep, and its name.
GROWS = {
    "nodes": ("nodes", "nodes of the graph"),
    "batch": ("batch", "seeds of a batch"),
    "fanout": ("fanout", "fanout of both hops"),
    "parts": ("parts", "parts at one host"),
    "hosts": ("hosts", "simulated hosts"),
    "in_flight": ("in_flight", "batches in flight"),
    "scratch": ("batch", "frontier of one hop"),
}
SHOWN = [
    ("ms_per_batch", "ms per batch"),
    ("m_edges_s", "M edges/s"),
    ("rows_gb_s", "GB/s of rows"),
    ("peak_mib", "peak memory, MiB"),
]
WIDTH, HEIGHT = 220, 150  # of a panel's frame
LEFT, TOP, STEP = 52, 26, 300


def grown(point):
    value = point[GROWS[point["sweep"]][0]]
    return value[0] if isinstance(value, list) else value


def short(value):
    for limit, unit in ((1e6, " M"), (1e3, " k")):
        if value >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"


class Axis:
    """Where values lie between two ends of a line: logarithmic for what grows, from 0 for what is measured."""

    def __init__(self, values, begin, end, logarithmic):
        self.scale = math.log if logarithmic else float
        self.low = self.scale(min(values)) if logarithmic else 0.0
        self.high = self.scale(max(values)) if logarithmic else 1.1 * max(values)
        self.begin, self.end = begin, end

    def __call__(self, value):
        share = (self.scale(value) - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(self.begin + share * (self.end - self.begin), 1)


def ticks(high):
    """About four round numbers from 0 to `high`."""
    step = 10 ** math.floor(math.log10(high / 4)) if high > 0 else 1
    step *= next(factor for factor in (1, 2, 5, 10) if high / (step * factor) <= 5)
    return [k * step for k in range(int(high / step) + 1)]


def panel(points, key, title, left):
    xs = [grown(point) for point in points]
    ys = [point[key] for point in points]
    x = Axis(xs, left, left + WIDTH, True)
    y = Axis(ys, TOP + HEIGHT, TOP, False)
    parts = [f'<text x="{left}" y="{TOP - 8}" class="title">{title}</text>']
    for value in ticks(y.high):
        parts.append(f'<line x1="{left}" x2="{left + WIDTH}" y1="{y(value)}" y2="{y(value)}" class="grid"/>')
        parts.append(f'<text x="{left - 6}" y="{y(value) + 4}" class="end">{short(value)}</text>')
    last = -math.inf
    for value in xs:
        if x(value) - last >= 30:  # labels that would overlap are left out
            parts.append(f'<text x="{x(value)}" y="{TOP + HEIGHT + 16}" class="middle">{short(value)}</text>')
            last = x(value)
    parts.append('<polyline points="' + " ".join(f"{x(a)},{y(b)}" for a, b in zip(xs, ys)) + '"/>')
    parts += [f'<circle cx="{x(a)}" cy="{y(b)}" r="3"><title>{short(a)}: {b}</title></circle>' for a, b in zip(xs, ys)]
    return parts


def drawing(points):
    width, height = LEFT + STEP * len(SHOWN) - 20, TOP + HEIGHT + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        "<style>text{font:12px sans-serif;fill:#333}.title{font-weight:bold}.end{text-anchor:end}.middle{text-anchor:middle}"
        ".grid{stroke:#ddd}polyline{fill:none;stroke:#1f6fb4;stroke-width:2}circle{fill:#1f6fb4}</style>",
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for k, (key, title) in enumerate(SHOWN):
        parts += panel(points, key, title, LEFT + STEP * k)
    parts.append(f'<text x="{LEFT}" y="{height - 8}">{GROWS[points[0]["sweep"]][1]}</text></svg>')
    return "\n".join(parts) + "\n"


def print_table(sweep, points):
    columns = [(GROWS[sweep][0], GROWS[sweep][1])] + SHOWN + [("edges_per_batch", "edges"), ("nodes_per_batch", "nodes")]
    columns += [("copied_mib", "of it copied"), ("scratch_mib", "scratch, MiB")]
    print("| " + " | ".join(title for _, title in columns) + " |\n|" + "--:|" * len(columns))
    for point in points:
        print("| " + " | ".join(str(grown(point) if key == GROWS[sweep][0] else point[key]) for key, _ in columns) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results")
    parser.add_argument("folder")
    parser.add_argument("--table", action="store_true", help="print a Markdown table of each sweep")
    options = parser.parse_args()
    with open(options.results) as file:
        lines = [json.loads(line) for line in file]
    os.makedirs(options.folder, exist_ok=True)
    for sweep in GROWS:
        points = [line for line in lines if line["kind"] == "point" and line["sweep"] == sweep]
        if len(points) > 1:
            with open(os.path.join(options.folder, f"growth_{sweep}.svg"), "w") as out:
                out.write(drawing(points))
        if points and options.table:
            print_table(sweep, points)


if __name__ == "__main__":
    main()
