"""Whole numbers as short text: differences as variable-length bytes, in base64."""

from __future__ import annotations

from base64 import b64encode

import numpy as np

from transom.errors import DocumentError
from transom.models.arrays import IntArray

_EXACT = 2**51  # differences, and their double, are exact numbers of JavaScript


def packed(values: IntArray) -> str:
    """Whole numbers for ``script/decode.js``.

    Each number is stored as the difference to the one before it, without a sign (0, -1, 1, -2 ... become 0, 1, 2, 3
    ...), in groups of seven bits from the lowest on; the eighth bit says that another group follows.

    Parameters
    ----------
    values : shape ``(n,)``, below 2**51 either way.

    Raises
    ------
    DocumentError : a number is too large for the page.
    """
    if len(values) and int(np.abs(values).max()) >= _EXACT:
        raise DocumentError(f"report: {int(np.abs(values).max())} is too large for a page, whose numbers end at 2^51")
    whole = np.asarray(values, np.int64)
    change: IntArray = whole - np.concatenate(([0], whole[:-1]))
    left = (change << 1 ^ change >> 63).astype(np.uint64)
    groups = np.ones(len(left), np.int64)
    for bits in range(7, 63, 7):
        groups += left >= np.uint64(1 << bits)
    begin = np.cumsum(groups) - groups
    out = np.empty(int(groups.sum()), np.uint8)
    for k in range(int(groups.max(initial=0))):
        more = groups > k
        seven = left[more] >> np.uint64(7 * k) & np.uint64(127)
        out[begin[more] + k] = seven.astype(np.uint8) | np.where(groups[more] > k + 1, 128, 0).astype(np.uint8)
    return b64encode(out.tobytes()).decode()
