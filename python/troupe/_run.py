"""Running a function once per rank."""

import os
import sys
import traceback

from troupe import _seeded, _troupe
from troupe._errors import Cancelled, Error
from troupe._session import Session


def run(train, job=None, *, set=None, resume=False, overwrite=False, device_batches=False):
    """Calls `train(session)` once per rank that runs in this process, each on a thread of its own.

    Under `troupe run JOB -- python3 FILE` the job is that of the command, which `job` and the keywords do not change. Started
    alone, it is `job`, with all hosts simulated in this process.

    job        path of a job file, or its content as a dict, whose relative paths are meant from the current folder
    set        {"train.epochs": 3, "sample.fanout": [5, 5]}: replaces values, as --set does
               Values of both may be numbers and arrays of NumPy, and paths.
    resume     continues from the newest checkpoint, as --resume does
    overwrite  as --overwrite does; not together with resume
    device_batches
               batches are in the memory of the ranks' devices (Batch.on_device), where the job's cluster.device has some

    Returns when all ranks have returned. A rank that raises ends the run: its traceback is printed with its rank, calls of
    the other ranks raise Cancelled, and SystemExit is raised with the codes of `troupe --help`: 1 an exception, 2 usage,
    3 data, 4 a peer failed, 130 interrupted. Ranks that do not return within ten seconds of that are ended with the process.
    Call it on the main thread: SIGINT, SIGTERM and SIGHUP are the run's while it lasts. A process has one run at a time.
    """
    if not callable(train):
        raise TypeError(f"expected a function of a session, found {type(train).__name__}")
    if resume and overwrite:
        raise ValueError("resume, overwrite: expected one of them, found both")
    own = object()
    if _under_way.setdefault(os.getpid(), own) is not own:  # the environment, and with it the job, is that of the process
        raise RuntimeError("expected no run under way in this process, found one; try: the call after it, or in another process")
    try:
        _run(train, job, set or {}, resume, overwrite, device_batches)
    finally:
        del _under_way[os.getpid()]


_under_way = {}  # by process, since forked children have none of it


def _run(train, job, changes, resume, overwrite, device_batches):
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)  # what the launcher passes on, and what is printed before an end
    before = dict(os.environ)
    if not any(before.get(name) for name in _GIVEN) and job is not None:
        os.environ.update(_environment(job, changes, resume, overwrite))
    try:
        code = _troupe.run(lambda handle: _rank(train, handle), sys.argv[:1] or ["python3"], bool(device_batches))
    finally:
        for name in _VARIABLES:
            os.environ.pop(name, None)
            if name in before:
                os.environ[name] = before[name]
    if code != 0:
        sys.exit(code)


_GIVEN = ("TROUPE_JOB", "TROUPE_MEMBER")  # by `troupe run`
_VARIABLES = ("TROUPE_JOB", "TROUPE_JOB_TEXT", "TROUPE_SET", "TROUPE_RESUME", "TROUPE_OVERWRITE")


def _plain(value):
    """Converts what json.dumps does not know: paths, and numbers and arrays of NumPy."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):  # of NumPy, and of tensors
        return value.tolist()
    raise TypeError(f"expected a value of a job file, found {type(value).__name__}")


def _json(name, value):
    import json

    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def _environment(job, changes, resume, overwrite):
    if not isinstance(job, (str, os.PathLike, dict)):
        raise TypeError(f"job: expected the path of a job file or a dict, found {type(job).__name__}")
    made = isinstance(job, dict)
    lines = [f"{key}={value if isinstance(value, str) else _json(f'set: {key}', value)}" for key, value in changes.items()]
    for line in lines:
        if "\n" in line:
            raise ValueError(f"set: expected one line, got {line!r}")
    return {
        "TROUPE_JOB": "" if made else os.path.abspath(os.fspath(job)),
        "TROUPE_JOB_TEXT": _json("job", job) if made else "",
        "TROUPE_SET": "".join(line + "\n" for line in lines),
        "TROUPE_RESUME": "1" if resume else "",
        "TROUPE_OVERWRITE": "1" if overwrite else "",
    }


def _rank(train, handle):
    """None, or how the rank's function has failed: name of a code, a sentence."""
    process = os.getpid()
    try:
        failed = _outcome(train, handle)
    finally:
        handle.end()
    if os.getpid() != process:
        _end_child(failed)
    return failed


def _end_child(failed):
    """Ends a forked child that has returned from the rank's function: it has none of the threads that the run waits for."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0 if failed is None else 1)


def _outcome(train, handle):
    """Calls the rank's function. Returns what _rank does."""
    rank = handle.rank
    try:
        with _seeded.rank():
            train(Session(handle))
    except SystemExit as end:
        return None if end.code in (None, 0) else ("internal", f"exit({end.code!r})")
    except Cancelled as error:
        return error.code, str(error)
    except Error as error:
        if error.code != "peer_lost":  # of a process, which is not this one's mistake
            _print_traceback(rank)
        return error.code, str(error)
    except BaseException as error:
        _print_traceback(rank)
        return "internal", _utf8(traceback.format_exception_only(type(error), error)[-1].strip())
    return None


def _utf8(text):
    """Names of files may have bytes that are no text, which Python keeps as surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()


def _print_traceback(rank):
    sys.stderr.write(f"rank {rank}: {traceback.format_exc()}")  # one call: ranks may fail at once
    sys.stderr.flush()
