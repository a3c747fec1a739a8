"""Tensors spread over the holders of the graph's parts."""

import os

import numpy

from troupe._arrays import Array, Bfloat16Words, column_of, ids_of, numbers_of
from troupe._errors import Error

_NUMPY = {"f32": "f4", "f64": "f8", "f16": "f2", "bf16": "u2", "i32": "i4", "i64": "i8", "u8": "u1"}
_NAMES = {numpy.dtype(code): name for name, code in _NUMPY.items() if name != "bf16"}


def dtype_name(dtype):
    """ "f32" of "f32", numpy.float32, "float32"."""
    if isinstance(dtype, str) and dtype in _NUMPY:
        return dtype
    name = _NAMES.get(numpy.dtype(dtype))
    if name is None:
        raise TypeError(f"dtype: expected one of {', '.join(_NUMPY)}, got {dtype!r}")
    return name


def _rows_of(rows):
    """Rows as ids: an array, or a range or slice with both ends."""
    if isinstance(rows, slice):
        if rows.start is None or rows.stop is None:
            raise ValueError("rows: expected a slice with both ends")
        rows = range(rows.start, rows.stop, 1 if rows.step is None else rows.step)
    return ids_of("rows", numpy.arange(rows.start, rows.stop, rows.step) if isinstance(rows, range) else rows)


def _bfloat16_words(bits):
    """Of float32, to the nearest, ties to even; a NaN stays one."""
    nearest = (bits + numpy.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16
    is_nan = (bits & 0x7FFFFFFF) > 0x7F800000
    return numpy.where(is_nan, (bits >> 16) | 0x40, nearest).astype(numpy.uint16)


def _check_range(array, dtype, wanted):
    """Raises ValueError for a whole number that the dtype does not have: NumPy would wrap it."""
    limits = numpy.iinfo(wanted)
    outside = numpy.argwhere((array < limits.min) | (array > limits.max))
    if len(outside):
        place = outside[0].tolist()
        found = f"{array[tuple(place)]} at {place}" if place else array
        raise ValueError(f"values: expected {dtype}, {limits.min} to {limits.max}, got {found}")


class Tensor:
    """A tensor of a session, or a named column of nodes or edges, which is read only.

    Rows of nodes are named by global ids, those of edges by original edge ids, free ones by 0 to len(tensor) - 1: an array,
    a range, or a slice with both ends. What a call has written, every rank reads from its return on.
    """

    def __init__(self, session, facts, column_of_type=None, of_edges=False):
        self._session = session
        self._type = column_of_type  # None: not a column
        self._of_edges = of_edges
        self.name: str = facts["name"]
        self.dtype: str = facts["dtype"]  # "f32", …
        self.shape: tuple = tuple(facts["shape"])  # of a row
        self.read_only: bool = column_of_type is not None
        self._rows = facts["rows"]
        self._deleted_before = session._deleted.get(self.name, 0)

    def __len__(self):
        return self._rows

    def __repr__(self):
        return f"Tensor({self.name!r}, rows={self._rows}, shape={self.shape}, dtype={self.dtype!r})"

    def _check_made(self):
        """The module finds tensors by name, which another one may have by now."""
        if not self.read_only and self._deleted_before != self._session._deleted.get(self.name, 0):
            raise Error("not_found", f'tensor "{self.name}": was deleted')

    def read(self, rows) -> Array:
        """[rows, …] in their order; duplicates allowed. bf16 as words of uint16."""
        self._check_made()
        ids, handle = _rows_of(rows), self._session._handle
        if self.read_only and self._of_edges:
            _, *values = handle.read_edge_column(self.name, ids, self._type)
        elif self.read_only:
            _, *values = handle.read_column(self.name, ids, self._type)
        else:
            _, *values = handle.read_tensor(self.name, ids)
        return column_of(*values)

    def write(self, rows, values):
        """Replaces rows. values: [rows, …], or one row for all of them. Whole numbers outside of the dtype are refused."""
        self._put(rows, values, False)

    def add(self, rows, values):
        """Adds to rows, in their order; whole numbers wrap. Sums of several ranks to one row depend on who comes first."""
        self._put(rows, values, True)

    def _put(self, rows, values, add):
        if self.read_only:
            raise Error("failed_precondition", f'tensor "{self.name}": a column of the store, which is read only')
        self._check_made()
        ids = _rows_of(rows)
        array = numbers_of(values)
        if array.dtype.kind not in ("biufO" if self.dtype in ("i32", "i64", "u8") else "biuf"):
            raise TypeError(f"values: expected {self.dtype}, found {array.dtype}")
        if self.dtype == "bf16" and not (isinstance(array, Bfloat16Words) or array.dtype == numpy.uint16):
            array = _bfloat16_words(numpy.ascontiguousarray(array, dtype=numpy.float32).view(numpy.uint32))
        wanted = numpy.dtype(_NUMPY.get(self.dtype, "u1"))
        if array.dtype.kind == "f" and wanted.kind != "f" and self.dtype != "bf16":
            raise TypeError(f"values: expected {self.dtype}, found {array.dtype}")
        if wanted.kind in "iu" and self.dtype != "bf16" and not add:
            _check_range(array, self.dtype, wanted)
        array = numpy.ascontiguousarray(numpy.broadcast_to(array, (len(ids), *self.shape)), dtype=wanted)
        self._session._handle.write_tensor(self.name, ids, self.dtype, array, add)

    def export(self, file):
        """Writes all rows to an .npy file that is new, some at a time; those of nodes in the order of original ids.

        To be called by one rank, while nobody writes.
        """
        self._check_made()
        if self.read_only:
            self._session._handle.export_column(self.name, self._type, self._of_edges, os.fspath(file))
        else:
            self._session._handle.export_tensor(self.name, os.fspath(file))
