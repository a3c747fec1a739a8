"""Arrays of a batch as tensors of PyTorch."""

import torch

from troupe._arrays import Bfloat16Words
from troupe._device import DeviceArray

# What PyTorch has no tensors of, or no arithmetic on: copied.
_WIDER = {"uint16": torch.int32, "uint32": torch.int64, "uint64": torch.int64}


def tensor_of(array):
    """A tensor that shares the array's memory, where PyTorch has its element type."""
    name = array.dtype.name
    if isinstance(array, Bfloat16Words) or getattr(array, "is_bfloat16", False):
        return _words_of(array).view(torch.bfloat16)
    if name == "bool":
        return _words_of(array).view(torch.bool)
    if name not in _WIDER:
        return torch.from_dlpack(array)
    words = _words_of(array)
    wide = words.to(_WIDER[name], copy=True)
    return wide if wide.dtype == words.dtype else wide & (1 << 8 * array.dtype.itemsize) - 1


def _words_of(array):
    """The array's elements as signed words of their size, of which PyTorch has tensors."""
    on_device = isinstance(array, DeviceArray)
    return torch.from_dlpack(_Words(array) if on_device else array.view(f"i{array.dtype.itemsize}"))


class _Words:
    """What PyTorch takes as the words of an array on a device."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, *, stream=None, **_):
        return self._array.capsule(stream, "integer")

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def put(store, name, tensor, form):
    """Adds what a batch has under a name, or nothing where that is None. `form`: the method of the batch, for errors."""
    if tensor is not None:
        if name in store:
            raise ValueError(f"{form}: a column has the name {name!r} of something else in the batch")
        store[name] = tensor


def refuse_walks(batch, form):
    if batch.walks is not None:
        raise ValueError(f"{form}: expected a batch with edges, found random walks; try: batch.walks.nodes and .pairs(window)")
