"""Running programs on given cores, with the load of others beside it, and result files: what measuring scripts share."""

import datetime
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Failed(Exception):
    """A measurement that ended without a result; the text says why."""


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else "no output"


class Machine:
    """Runs programs and knows how many cores others kept busy meanwhile."""

    def __init__(self, cores):
        self.cores = cores

    @staticmethod
    def _busy():
        with open("/proc/stat") as stat:
            ticks = [int(word) for word in stat.readline().split()[1:9]]
        return (ticks[0] + ticks[1] + ticks[2] + sum(ticks[5:8])) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def _children():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def run(self, commands, limit, cores=None):
        """Runs `commands` side by side, each a list of words, until all have ended.

        Returns their outputs and the number of cores that others kept busy.
        Raises Failed for an exit code other than 0 and when `limit` seconds are over.
        """
        cores = cores or [",".join(map(str, self.cores))] * len(commands)
        busy, own, began = self._busy(), self._children(), time.time()
        with tempfile.TemporaryDirectory() as folder:
            children = []
            for i, command in enumerate(commands):
                with open(os.path.join(folder, str(i)), "w") as out:
                    children.append(
                        subprocess.Popen(
                            ["taskset", "--cpu-list", cores[i]] + command,
                            stdout=out,
                            stderr=subprocess.STDOUT,
                            start_new_session=True,
                            env=dict(os.environ, PYTHONWARNINGS="ignore"),
                        )
                    )
            problem = self._wait(children, began + limit)
            outputs = [open(os.path.join(folder, str(i)), errors="replace").read() for i in range(len(commands))]
        others = (self._busy() - busy - (self._children() - own)) / (time.time() - began)
        if problem:
            raise Failed(f"{problem}: {last_line(outputs[0])}")
        return outputs, round(max(0.0, others), 2)

    @staticmethod
    def _wait(children, until):
        """Waits until all have ended or one has failed, then ends the rest. Returns what went wrong."""
        problem = ""
        try:
            while not problem and any(child.poll() is None for child in children):
                time.sleep(0.02)
                if time.time() > until:
                    problem = "not done in time"
                elif any(child.poll() for child in children):
                    break
            failed = [child.returncode for child in children if child.poll()]
            if failed and not problem:
                problem = f"exit code {failed[0]}"
        finally:
            for child in children:
                try:
                    os.killpg(child.pid, signal.SIGKILL)  # also the processes that it started
                except ProcessLookupError:
                    pass
                child.wait()
        return problem


class Results:
    """The result file, line by line."""

    def __init__(self, path):
        self.path = path
        self.skipped = set()
        open(path, "w").close()

    def add(self, kind, **fields):
        line = json.dumps({"kind": kind, **fields})
        with open(self.path, "a") as out:
            out.write(line + "\n")
        print(line, flush=True)

    def skip(self, bench, system, reason, **fields):
        if (bench, system, reason) not in self.skipped:
            self.skipped.add((bench, system, reason))
            self.add("skipped", bench=bench, system=system, skipped=reason, **fields)


def about(build):
    """What was measured on what: commit, program, flags of the build, processor, date."""

    def output(*words):
        return subprocess.run(words, capture_output=True, text=True).stdout.strip()

    with open("/proc/cpuinfo") as info:
        processor = re.search(r"model name\s*: (.*)", info.read()).group(1)
    with open(os.path.join(build, "CMakeCache.txt")) as cache:
        text = cache.read()
    return {
        "commit": output("git", "-C", ROOT, "rev-parse", "--short", "HEAD"),
        "changed": bool(output("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no")),
        "troupe": output(os.path.join(build, "launcher", "troupe"), "--version"),
        "flags": {
            key: re.search(rf"^{key}:\w+=(.*)$", text, re.M).group(1)
            for key in ("CMAKE_BUILD_TYPE", "TROUPE_OPTIMIZE", "TROUPE_PROCESSOR")
        },
        "processor": processor,
        "date": datetime.date.today().isoformat(),
    }
