"""Sums of gradients over the ranks, as one vector."""

import numpy


def all_reduce(session, gradients, seeds, of_sum):
    arrays = _arrays(gradients)
    learned = _learned(gradients) if arrays is None else []
    if learned:
        return _reduce_torch(session, learned, seeds, of_sum)
    flat = _joined(arrays or [])
    if not of_sum:
        flat *= numpy.float32(seeds)
    total = session.all_reduce_mean(flat, seeds)  # of nothing too: ranks that differ are told so
    if not arrays:
        raise ValueError("gradients: expected a parameter that requires a gradient, or an array; found none")
    _put_back(flat, arrays)
    return total


def broadcast(session, parameters):
    arrays = _arrays(parameters)
    if arrays is None:
        import torch

        with torch.no_grad():
            tensors = [p.data for p in _parameters(parameters)]
            tensors += list(parameters.buffers()) if hasattr(parameters, "buffers") else []
            vectors = [_exact_floats(torch, tensor) for tensor in tensors]
            flat = torch.cat([torch.zeros(0), *vectors])
            if session.rank != 0:
                flat = torch.zeros_like(flat)
            session.all_reduce(flat.numpy())
            for tensor, values in zip(tensors, flat.split([len(vector) for vector in vectors])):
                if tensor.dtype != torch.float32:
                    values = values.to(torch.uint8).view(tensor.dtype)
                tensor.copy_(values.view_as(tensor))
        return
    flat = _joined(arrays)
    if session.rank != 0:
        flat[:] = 0
    session.all_reduce(flat)
    _put_back(flat, arrays)


def _exact_floats(torch, tensor):
    """What float32 hold without rounding: its numbers, or of other dtypes the bytes."""
    flat = tensor.detach().cpu().reshape(-1)
    return flat if tensor.dtype == torch.float32 else flat.view(torch.uint8).float()


def _arrays(gradients):
    """As a list, if they are NumPy arrays; else None."""
    if isinstance(gradients, numpy.ndarray):
        gradients = [gradients]
    if not isinstance(gradients, (list, tuple)) or not all(isinstance(a, numpy.ndarray) for a in gradients):
        return None
    for array in gradients:
        if array.dtype != numpy.float32:
            raise TypeError(f"expected float32, found {array.dtype}")
        if not array.flags.writeable:
            raise TypeError("expected arrays that can be written")
    return list(gradients)


def _joined(arrays):
    """A copy of all numbers, one after the other."""
    return numpy.concatenate([numpy.zeros(0, numpy.float32), *(array.reshape(-1) for array in arrays)])


def _put_back(flat, arrays):
    first = 0
    for array in arrays:
        array[...] = flat[first : first + array.size].reshape(array.shape)
        first += array.size


def _parameters(thing):
    if hasattr(thing, "param_groups"):
        found = [p for group in thing.param_groups for p in group["params"]]
    elif hasattr(thing, "parameters"):
        found = list(thing.parameters())
    elif hasattr(thing, "requires_grad"):
        found = [thing]
    else:
        found = list(thing)
    for parameter in found:
        if not hasattr(parameter, "requires_grad"):
            raise TypeError(f"expected PyTorch parameters or NumPy arrays, found {type(parameter).__name__}")
    return found


def _learned(thing):
    """Parameters that have gradients. Those of modules and optimizers may be frozen, and are passed over then."""
    found = _parameters(thing)
    import torch

    if not hasattr(thing, "param_groups"):
        for tensor in found:
            if not isinstance(tensor, torch.nn.Parameter) and not (tensor.requires_grad and tensor.is_leaf):
                raise TypeError(
                    "gradients: expected parameters, found a tensor that gets no gradient\n"
                    "try: pass the module or its parameters, not their gradients"
                )
    return [parameter for parameter in found if parameter.requires_grad]


def _flat(torch, tensors, device="cpu"):
    """All numbers one after the other, on the device if all are there, else in host memory."""
    for tensor in tensors:
        if tensor.dtype != torch.float32:
            raise TypeError(
                f"gradients: expected float32, found {tensor.dtype}\n"
                "try: parameters of float32, with torch.autocast where other numbers are to be computed with"
            )
        if tensor.layout != torch.strided:
            raise TypeError("gradients: expected dense ones, found a sparse one\ntry: sparse=False, or session.embedding()")
    if not tensors:
        return torch.zeros(0)
    if any(tensor.device != torch.device(device) for tensor in tensors):
        device = "cpu"
    return torch.cat([tensor.detach().reshape(-1).to(device) for tensor in tensors])


def _reduce_torch(session, learned, seeds, of_sum):
    import torch

    with torch.no_grad():
        flat = _flat(torch, [torch.zeros_like(p) if p.grad is None else p.grad for p in learned], session.device)
        if not of_sum:
            flat *= seeds
        total = session.all_reduce_mean(flat if flat.is_cuda else flat.numpy(), seeds)
        for parameter, values in zip(learned, flat.split([p.numel() for p in learned])):
            if parameter.grad is None:
                parameter.grad = torch.empty_like(parameter)
            parameter.grad.copy_(values.view_as(parameter))
    return total
