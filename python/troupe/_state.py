"""The bytes of a checkpoint: a .npz file in memory. State of PyTorch is in it as what torch.save writes, and is read with
weights_only: reading executes nothing that a file says."""

import io
import warnings

import numpy


class Keeper:
    def __init__(self):
        self._things = {}

    def add(self, things):
        for name, thing in things.items():
            if name in self._things:
                raise ValueError(f"keep: there is a {name!r} already")
            if not isinstance(thing, numpy.ndarray) and not hasattr(thing, "load_state_dict"):
                raise TypeError(f"keep: expected an array or an object with a state_dict, found {name}={thing!r:.80}")
            if isinstance(thing, numpy.ndarray) and (thing.dtype.hasobject or not thing.flags.writeable):
                raise TypeError(f"keep: expected an array of numbers that can be written, found {name} of {thing.dtype}")
            self._things[name] = thing

    def save(self):
        arrays = {name: _array_of(thing) for name, thing in self._things.items()}
        out = io.BytesIO()
        numpy.savez(out, **arrays)
        return out.getvalue()

    def restore(self, state):
        with numpy.load(io.BytesIO(state), allow_pickle=False) as arrays:
            missing = [name for name in self._things if name not in arrays.files]
            if missing or len(arrays.files) != len(self._things):
                raise ValueError(
                    f"checkpoint: expected the state of {', '.join(self._things)}, found that of {', '.join(arrays.files)}"
                )
            for name, thing in self._things.items():
                _put_back(name, thing, arrays[name])


def _array_of(thing):
    if isinstance(thing, numpy.ndarray):
        return thing
    import torch

    out = io.BytesIO()
    torch.save(thing.state_dict(), out)
    return numpy.frombuffer(out.getbuffer(), dtype=numpy.uint8)


def _put_back(name, thing, array):
    if not isinstance(thing, numpy.ndarray):
        import torch

        warnings.filterwarnings("ignore", "TypedStorage is deprecated")  # PyTorch 2.1 about itself
        thing.load_state_dict(torch.load(io.BytesIO(array.tobytes()), weights_only=True))
    elif array.shape != thing.shape or array.dtype != thing.dtype:
        raise ValueError(
            f"checkpoint: {name}: expected {thing.dtype} of shape {thing.shape}, found {array.dtype} of {array.shape}"
        )
    else:
        thing[...] = array
