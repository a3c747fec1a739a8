"""Makes the files beside it: losses with weights of classes, by PyTorch 2.1.2 in float64.

cross_entropy(logits, labels, weight=w, ignore_index=-1) is a mean that is divided by the weights of the labels.
binary_cross_entropy_with_logits(logits, targets, weight=w, pos_weight=p) is one that is divided by the number of terms.
Balanced weights are those of scikit-learn's compute_class_weight, n / (classes * count), of these labels.

    pip install torch==2.1.2 'numpy<2'
    python make.py
"""
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
ROWS, CLASSES = 23, 5


def save(name, array, dtype):
    with open(HERE / f"{name}.npy", "wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array, dtype), version=(1, 0))


def save_loss(name, loss, logits):
    x = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    value = loss(x)
    value.backward()
    save(f"{name}_loss", [value.item()], np.float64)
    save(f"{name}_grad", x.grad.numpy(), np.float64)


def main():
    rng = np.random.default_rng(74)
    logits = (3 * rng.normal(size=(ROWS, CLASSES))).astype(np.float32)
    labels = rng.choice(CLASSES, size=ROWS, p=[0.5, 0.25, 0.1, 0.1, 0.05])
    labels[:CLASSES] = np.arange(CLASSES)
    labels[[6, 8]] = -1
    weights = np.array([0.3, 1.7, 0, 2.25, 11])
    targets = (rng.random((ROWS, CLASSES)) < 0.3).astype(np.float32)
    positive = 2.5
    counts = np.bincount(labels[labels >= 0], minlength=CLASSES)
    balanced = counts.sum() / (CLASSES * counts)
    known = torch.tensor(labels)

    def weighted(w):
        return lambda x: F.cross_entropy(x, known, weight=torch.tensor(w), ignore_index=-1)

    save("logits", logits, np.float32)
    save("labels", labels, np.int64)
    save("targets", targets, np.float32)
    save("weights", weights, np.float64)
    save("counts", counts, np.int64)
    save("balanced", balanced, np.float64)
    save_loss("cross_entropy", weighted(weights), logits)
    save_loss("cross_entropy_balanced", weighted(balanced), logits)
    save_loss("bce", lambda x: F.binary_cross_entropy_with_logits(
        x, torch.tensor(targets, dtype=torch.float64), weight=torch.tensor(weights),
        pos_weight=torch.tensor(positive, dtype=torch.float64)), logits)


main()
