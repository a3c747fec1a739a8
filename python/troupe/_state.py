"""The bytes of a checkpoint: a .npz file in memory. State of PyTorch is in it as what torch.save writes, and is read with
weights_only: reading executes nothing that a file says."""

import collections
import copy
import io
import warnings
import zipfile

import numpy

_COUNTER = "troupe: collections.Counter"  # the only key of the dict that stands for one


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
            _check(name, thing)
            self._things[name] = thing

    def save(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as file:  # not numpy.savez, which has names of its own
            for name, thing in self._things.items():
                with file.open(name + ".npy", "w", force_zip64=True) as to:
                    numpy.lib.format.write_array(to, _array_of(thing), allow_pickle=False)
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


def _check(name, thing):
    """Raises TypeError for an object whose state would be saved and could not be read again."""
    if isinstance(thing, numpy.ndarray):
        return
    try:
        _state_of(_array_of(thing))
    except Exception as error:
        raise TypeError(
            f"keep: {name}, of type {type(thing).__name__}: its state_dict() cannot be restored from a checkpoint\n"
            "try: a state of numbers, strings, tensors, dicts, lists, tuples and Counters alone, or on_save and on_restore"
        ) from error


def _array_of(thing):
    if isinstance(thing, numpy.ndarray):
        return thing
    import torch

    out = io.BytesIO()
    torch.save(_changed(thing.state_dict(), _without_counter), out)
    return numpy.frombuffer(out.getbuffer(), dtype=numpy.uint8)


def _state_of(array):
    import torch

    warnings.filterwarnings("ignore", "TypedStorage is deprecated")  # PyTorch 2.1 about itself
    return _changed(torch.load(io.BytesIO(array.tobytes()), weights_only=True), _with_counter)


def _put_back(name, thing, array):
    if not isinstance(thing, numpy.ndarray):
        thing.load_state_dict(_state_of(array))
    elif array.shape != thing.shape or array.dtype != thing.dtype:
        raise ValueError(
            f"checkpoint: {name}: expected {thing.dtype} of shape {thing.shape}, found {array.dtype} of {array.shape}"
        )
    else:
        thing[...] = array


def _without_counter(value):
    """weights_only does not read Counters, which MultiStepLR has."""
    if isinstance(value, dict) and _COUNTER in value:
        raise ValueError(f"expected no key {_COUNTER!r}")
    return {_COUNTER: dict(value)} if type(value) is collections.Counter else value


def _with_counter(value):
    return collections.Counter(value[_COUNTER]) if isinstance(value, dict) and _COUNTER in value else value


def _changed(value, change):
    """A state after `change` of all that its dicts, lists and tuples have; itself where that changes nothing."""
    value = change(value)
    if isinstance(value, dict):
        items = {key: _changed(item, change) for key, item in value.items()}
        if any(items[key] is not item for key, item in value.items()):
            value = copy.copy(value)  # with its attributes, which a module's state has
            value.update(items)
    elif type(value) in (list, tuple):
        items = [_changed(item, change) for item in value]
        if any(new is not old for new, old in zip(items, value)):
            value = type(value)(items)
    return value
