"""The one class of torch_sparse that graphlearn_torch's CSR conversion uses.

torch_sparse has no wheel for these versions of torch and compiles for a quarter of an hour; GLT imports it for
`SparseTensor(row, col, value).storage.{rowptr,col,value}` alone.
"""

import torch


class SparseTensor:
    def __init__(self, row, col, value=None, sparse_sizes=None):
        order = (row * sparse_sizes[1] + col).argsort(stable=True)
        offsets = torch.zeros(sparse_sizes[0] + 1, dtype=torch.int64)
        offsets[1:] = torch.bincount(row, minlength=sparse_sizes[0]).cumsum(0)
        columns = col[order]
        values = None if value is None else value[order]

        class Storage:
            rowptr = staticmethod(lambda: offsets)
            col = staticmethod(lambda: columns)
            value = staticmethod(lambda: values)

        self.storage = Storage
