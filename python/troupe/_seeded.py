"""Random numbers of libraries that have one generator for all threads."""

import contextlib
import sys
import threading

_lock = threading.RLock()
_here = threading.local()  # `depth`: with blocks that this thread is in
_ranks = set()  # threads of this process whose rank's function has not returned


@contextlib.contextmanager
def rank():
    """Around a rank's function."""
    _ranks.add(threading.get_ident())
    try:
        yield
    finally:
        _ranks.discard(threading.get_ident())


def check_collective():
    """Raises RuntimeError in seeded(), where others of this process wait: a call of all ranks would not end."""
    if getattr(_here, "depth", 0) and len(_ranks) > 1:
        raise RuntimeError(
            "expected no call that waits for other ranks inside seeded(), which other ranks of this process wait for\n"
            "try: the call after the with block"
        )


@contextlib.contextmanager
def _counted():
    _here.depth = getattr(_here, "depth", 0) + 1
    try:
        yield
    finally:
        _here.depth -= 1


@contextlib.contextmanager
def seeded(*numbers):
    """Seeds the generators of PyTorch (only if it was imported) and NumPy with all the numbers, and puts them back.

    Ranks that are simulated are threads of one process and share these generators. Inside `with troupe.seeded(session.seed,
    session.rank, session.global_step):` the others wait, so that initial weights and dropout have the same bits in every
    launch mode and after a resume. No collective call (`all_reduce…`, `end_step`, the next batch) inside: it raises
    RuntimeError, as it would wait for ranks that wait.
    """
    import numpy

    seed = numpy.random.SeedSequence([int(number) for number in numbers]).generate_state(2)
    torch = sys.modules.get("torch")
    with _lock, _counted():
        before = numpy.random.get_state()
        before_torch = torch.random.get_rng_state() if torch else None
        cuda = torch.cuda if torch and torch.cuda.is_initialized() else None
        before_cuda = cuda.get_rng_state_all() if cuda else None
        numpy.random.seed(int(seed[0]))
        if torch:
            torch.random.default_generator.manual_seed(int(seed[0]) << 31 ^ int(seed[1]))
        if cuda:
            cuda.manual_seed_all(int(seed[0]) << 31 ^ int(seed[1]))
        try:
            yield
        finally:
            numpy.random.set_state(before)
            if torch:
                torch.random.set_rng_state(before_torch)
            if cuda:
                cuda.set_rng_state_all(before_cuda)
