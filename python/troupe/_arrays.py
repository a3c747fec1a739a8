"""Arrays that share memory with a batch."""

import numpy

from troupe import _troupe
from troupe._device import DeviceArray


class Array(numpy.ndarray):
    """A NumPy array over memory of Troupe's: nothing is copied, and the batch stays as long as any of its arrays.

    Read only. Other libraries share the memory by DLPack, for example `torch.from_dlpack(array)`; PyTorch does not know
    tensors that must not be written: do not, since the batch is digested after the step.
    """

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy:
            return _troupe.dlpack(numpy.array(self))
        return _troupe.dlpack(self)

    def __dlpack_device__(self):
        return 1, 0  # the CPU


def array_of(values):
    """A NumPy array over what the module gives, or an array on its device; None stays None."""
    if values is None:
        return None
    return numpy.asarray(values).view(Array) if values.cuda is None else DeviceArray(values)


def int64_of(values):
    """Ids for the module: int64, one dimension, without gaps."""
    array = numpy.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"expected ids, which are whole numbers, found {array.dtype}")
    return numpy.ascontiguousarray(array, dtype=numpy.int64).reshape(-1)


def column_of(values, is_bfloat16):
    """A named column. NumPy has no bfloat16: their words, which `to_pyg` gives PyTorch as what they are."""
    if values.cuda is not None:
        return DeviceArray(values, is_bfloat16)
    array = array_of(values)
    return array.view(Bfloat16Words) if is_bfloat16 else array


class Bfloat16Words(Array):
    """uint16 words of bfloat16 numbers."""
