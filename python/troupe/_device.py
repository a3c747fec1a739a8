"""Arrays in the memory of a rank's CUDA device."""

import math
import sys

import numpy

from troupe import _troupe


def _handle(stream):
    """A CUDA stream of DLPack as the module takes it; those without a handle are the default one, which waits for them."""
    return 0 if stream in (None, -1, 0, 1, 2) else stream


class DeviceArray:
    """An array of a batch in the memory of a CUDA device, for libraries that compute there.

    `torch.from_dlpack(array)` and `cupy.from_dlpack(array)` share its memory, which stays until they have ended their
    arrays and the work is done that the stream that took it has then. Read only, as Array is.
    """

    def __init__(self, values, is_bfloat16=False):
        self._values = values
        self.shape: tuple = tuple(values.shape)
        self.dtype: numpy.dtype = numpy.dtype(values.format)  # of bfloat16 that of its words, uint16
        self.is_bfloat16: bool = is_bfloat16
        self.device: str = f"cuda:{values.cuda}"  # as torch.device takes it

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        dtype = "bfloat16" if self.is_bfloat16 else self.dtype
        return f"DeviceArray(shape={self.shape}, dtype={dtype}, device={self.device!r})"

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(f"expected to share memory of {self.device}; copies are for the library that takes it")
        return self.capsule(stream, "bfloat" if self.is_bfloat16 else "")

    def __dlpack_device__(self):
        return 2, self._values.cuda  # CUDA

    def capsule(self, stream, kind):
        """What __dlpack__ gives; of kind "integer" with signed words in the place of elements."""
        return _troupe.dlpack_there(self._values, _handle(stream), kind)


def vector_of(values):
    """Address, number and stream of the float32 values of an array in a CUDA device's memory; None: it is not in one.

    Raises TypeError for other values, and for an array with gaps.
    """
    facts = getattr(values, "__cuda_array_interface__", None)
    if facts is None:
        return None
    if facts["typestr"] != "<f4" or facts.get("strides") is not None:
        raise TypeError("expected an array of float32, without gaps")
    address, read_only = facts["data"]
    if read_only:
        raise TypeError("expected an array that can be written")
    return address, math.prod(facts["shape"]), _stream_of(values, facts)


def _stream_of(values, facts):
    torch = sys.modules.get("torch")
    if torch and isinstance(values, torch.Tensor):
        return torch.cuda.current_stream(values.device).cuda_stream
    return _handle(facts.get("stream"))
