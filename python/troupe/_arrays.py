"""Arrays that share memory with a batch."""

import operator

import numpy

from troupe import _troupe
from troupe._device import DeviceArray
from troupe._errors import Error


class Array(numpy.ndarray):
    """A NumPy array over memory of Troupe's: nothing is copied, and the batch stays as long as any of its arrays.

    Read only. Other libraries share the memory by DLPack, for example `torch.from_dlpack(array)`; PyTorch does not know
    tensors that must not be written: do not, since the batch is digested after the step.
    """

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy:
            return _troupe.dlpack(numpy.array(self))
        if any(stride < 0 or stride % self.itemsize for stride in self.strides):  # PyTorch aborts the process at the former
            raise BufferError(f"expected strides of whole elements that are not negative, found {self.strides}; try: its copy()")
        return _troupe.dlpack(self)

    def __dlpack_device__(self):
        return 1, 0  # the CPU


def array_of(values):
    """A NumPy array over what the module gives, or an array on its device; None stays None."""
    if values is None:
        return None
    return numpy.asarray(values).view(Array) if values.cuda is None else DeviceArray(values)


def whole_of(what, value):
    """A whole number for the module."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: expected a whole number, got {value!r}") from None


def count_of(what, value, bits=64):
    """A number for the module, which is whole and not negative."""
    number = whole_of(what, value)
    if not 0 <= number < 1 << bits:
        raise ValueError(f"{what}: expected 0 to {(1 << bits) - 1}, got {number}")
    return number


def detached(values):
    """Values of a PyTorch tensor without their history; other values as they are."""
    return values.detach() if hasattr(values, "detach") else values


def numbers_of(values):
    """Numbers that the module only reads, as an array; of PyTorch's bfloat16, which NumPy has not, as float32."""
    values = detached(values)
    return numpy.asarray(values.float() if str(getattr(values, "dtype", "")) == "torch.bfloat16" else values)


def ids_of(what, values):
    """Ids for the module, which are not negative."""
    ids = int64_of(values)
    if ids.size and ids.min() < 0:
        place = int((ids < 0).argmax())
        found = numpy.asarray(values).reshape(-1)[place]
        raise Error("invalid_argument", f"{what}: expected ids from 0 to {2**63 - 1}, got {found} at {place}")
    return ids


def int64_of(values):
    """Whole numbers for the module: int64, one dimension, without gaps."""
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
