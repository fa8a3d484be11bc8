"""Signs and effects of a 2^k design by the fast Walsh-Hadamard transform.

A cell and a term are both numbered by k bits, the first factor in the most significant one. In a cell a set
bit means the high level; in a term it means that the factor takes part. Term 0 is the mean. The sign of term
m in cell i is the product of +1 (high) or -1 (low) over the factors of m. No 2^k x 2^k matrix is formed: the
transform takes k 2^k additions.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def signed_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over cells of sign times value, for every term.

    Parameters
    ----------
    values : ndarray, shape (2^k, ...)
        By cell, in standard order.

    Returns
    -------
    ndarray, shape (2^k, ...)
        By term number.
    """
    return _butterflies(values, inverse=False)


def sums_of_effects(effects: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over terms of sign times effect, for every cell: the inverse of `signed_sums` divided by 2^k."""
    return _butterflies(effects, inverse=True)


def _butterflies(values: NDArray[np.float64], *, inverse: bool) -> NDArray[np.float64]:
    shape = values.shape
    count = shape[0]
    width = 1
    while width < count:
        halves = values.reshape(count // (2 * width), 2, width, -1)
        first, second = halves[:, 0], halves[:, 1]
        pair = (first - second, first + second) if inverse else (first + second, second - first)
        values = np.stack(pair, axis=1).reshape(shape)
        width *= 2
    return values


def cell_names(k: int) -> tuple[str, ...]:
    """Return the 2^k cells in standard order: "00", "01", "10", "11" for k = 2, the first factor slowest."""
    return tuple(format(i, f"0{k}b") for i in range(2**k))


def terms(names: Sequence[str], order: int) -> tuple[list[str], NDArray[np.int64]]:
    """Names and numbers of all terms up to `order`, main effects first, without the mean."""
    k = len(names)
    bits = [1 << (k - 1 - i) for i in range(k)]
    members = [m for size in range(1, order + 1) for m in combinations(range(k), size)]
    labels = [":".join(names[i] for i in m) for m in members]
    return labels, np.array([sum(bits[i] for i in m) for m in members], dtype=np.int64)


def sign_matrix(k: int) -> NDArray[np.int8]:
    """All signs, shape (2^k cells, 2^k terms), for display."""
    matrix = np.ones((1, 1), dtype=np.int8)
    for _ in range(k):
        matrix = np.kron(matrix, np.array([[1, -1], [1, 1]], dtype=np.int8))
    return matrix


def sign_table(names: Sequence[str]) -> pd.DataFrame:
    """Signs of the mean and of all effects in every cell of the factors with these names."""
    k = len(names)
    labels, numbers = terms(names, k)
    signs = sign_matrix(k)[:, np.concatenate(([0], numbers))]
    return pd.DataFrame(signs, index=pd.Index(cell_names(k), name="cell"), columns=["mean", *labels])
