"""Makes the files beside it: losses of numbers, some unknown (NaN), and their scores, by NumPy in float64.

r2 is that of each column (1 - squares / squares of the distance from the mean of the known numbers),
averaged over columns, as scikit-learn's r2_score does with "uniform_average".
mae and huber are torch.nn.L1Loss and torch.nn.HuberLoss(delta=0.75) as PyTorch's documentation defines them,
with the sums over the known numbers in the place of means.

    python make.py
"""
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROWS, COLS = 57, 3


def save(name, array, dtype):
    with open(HERE / f"{name}.npy", "wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array, dtype), version=(1, 0))


def main():
    rng = np.random.default_rng(45)
    outputs = rng.normal(size=(ROWS, COLS)).astype(np.float32)
    numbers = (outputs + rng.normal(scale=0.7, size=outputs.shape)).astype(np.float32) * 2
    numbers[rng.random(numbers.shape) < 0.2] = np.nan
    known = ~np.isnan(numbers)
    difference = np.where(known, outputs.astype(np.float64) - numbers, 0)
    squares = difference**2
    r2 = []
    for c in range(COLS):
        column = numbers[known[:, c], c].astype(np.float64)
        r2.append(1 - squares[:, c].sum() / ((column - column.mean()) ** 2).sum())
    save("outputs", outputs, np.float32)
    save("numbers", numbers, np.float32)
    save("grad", 2 * difference, np.float32)
    save("loss", [squares.sum()], np.float64)
    lengths = np.abs(difference)
    save("mae_grad", np.sign(difference), np.float32)
    save("mae_loss", [lengths.sum()], np.float64)
    delta = 0.75
    near = lengths < delta
    save("huber_grad", np.where(near, difference, delta * np.sign(difference)), np.float32)
    save("huber_loss", [np.where(near, 0.5 * difference**2, delta * (lengths - 0.5 * delta)).sum()],
         np.float64)
    save("scores", [np.sqrt(squares.sum() / known.sum()), np.abs(difference).sum() / known.sum(),
                    np.mean(r2), known.sum()], np.float64)


main()
