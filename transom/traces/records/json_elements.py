"""A compiled scanner that finds where jobs begin and end in JSON, so that no file is held in memory as a whole."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import no_refcount
from transom.models.arrays import IntArray
from transom.reading import DEPTH

GOES_ON, FULL, TOO_DEEP, MALFORMED = range(4)
"""How a scan ended: at the end of the data, with no room left, at too deep an object, at what cannot stand there."""

_SPACE, _QUOTE, _COMMA, _COLON, _BACKSLASH = 32, 34, 44, 58, 92
_ARRAY, _END_OF_ARRAY, _OBJECT, _END_OF_OBJECT = 91, 93, 123, 125
_KEY = np.frombuffer(b'"jobs"', np.uint8)


class Progress:
    """How far a scan has got, for :func:`~transom._system.records.record`.

    ``at`` is the next byte, ``depth`` how many objects and arrays are open, ``elements`` the depth of a list of jobs
    that is open, else 0, ``start`` where the job or document begins that is not yet complete, else -1. ``string`` is
    where the last string begins; ``quoted`` and ``escaped`` say whether it goes on, and whether after a backslash.
    ``key`` says that ``"jobs"`` was the last string of a document, ``listed`` that the document had a list of jobs.
    """

    at: int
    depth: int
    elements: int
    start: int
    string: int
    quoted: bool
    escaped: bool
    key: bool
    listed: bool


@no_refcount
def _end_of_string(data: np.ndarray, at: int, now: Progress) -> int:
    """The byte behind the string that goes on at a byte, or the end of the data."""
    if now.escaped and at < len(data):
        now.escaped = False
        at += 1
    while at < len(data) and now.quoted:
        while at < len(data) and data[at] != _QUOTE and data[at] != _BACKSLASH:
            at += 1
        if at + 1 < len(data) and data[at] == _BACKSLASH:
            at += 2
        elif at < len(data):
            now.escaped = data[at] == _BACKSLASH
            now.quoted = now.escaped
            at += 1
    if not now.quoted and now.depth == 1:
        now.key = at - now.string == len(_KEY)
        for i in range(len(_KEY) if now.key else 0):
            now.key = now.key and data[now.string + i] == _KEY[i]
    return at


@no_refcount
def _closed(found: IntArray, count: int, end: int, now: Progress) -> int:
    """How many jobs there are when an element, if there is one, or a whole document ends."""
    if now.start >= 0 and not now.listed:
        found[count, 0], found[count, 1], found[count, 2] = now.start, end, now.elements == 0
        count += 1
    now.start = -1
    return count


@no_refcount
def scan(data: np.ndarray, found: IntArray, now: Progress) -> tuple[int, int]:
    """Find jobs: the elements of an array, those of the list ``"jobs"`` of an object, or objects without such a list.

    Parameters
    ----------
    data : bytes of JSON, uint8: any number of documents, one after the other.
    found : takes begin, end, and whether it is a whole document, of each job that ends here, shape ``(most, 3)``.
    now : where to begin and, afterwards, how far it got.

    Returns
    -------
    How many were found, and how the scan ended.
    """
    count, at = 0, now.at
    while at < len(data):
        if now.quoted:
            at = _end_of_string(data, at, now)
            continue
        byte = data[at]
        if byte <= _SPACE or byte == _COLON:  # what blanks may stand is for whoever decodes the job to say
            at += 1
            while at < len(data) and data[at] <= _SPACE:
                at += 1
            continue
        now.at = at
        if count == len(found):
            return count, FULL
        at += 1
        if byte == _COMMA:
            if now.depth == 0:
                return count, MALFORMED
            if now.depth == now.elements:
                count = _closed(found, count, at - 1, now)
            now.key = False
        elif byte in (_END_OF_ARRAY, _END_OF_OBJECT):
            if now.depth == 0:
                return count, MALFORMED
            if now.depth == now.elements:
                count = _closed(found, count, at - 1, now)
                now.elements, now.listed = 0, True
            now.depth -= 1
            if now.depth == 0:
                count = _closed(found, count, at, now)
                now.key, now.listed = False, False
        else:
            if now.start < 0 and not now.listed:
                now.start = at - 1
            if byte == _QUOTE:
                now.quoted, now.string = True, at - 1
            elif byte in (_ARRAY, _OBJECT):
                now.depth += 1
                if now.depth > DEPTH:
                    return count, TOO_DEEP
                if byte == _ARRAY and now.elements == 0 and (now.depth == 1 or (now.depth == 2 and now.key)):
                    now.elements, now.start, now.listed = now.depth, -1, False
                now.key = False
            elif now.depth == 0:
                return count, MALFORMED
            else:
                while at < len(data) and (_COMMA < data[at] < _ARRAY or _END_OF_ARRAY < data[at] < _OBJECT):
                    at += 1
    now.at = at
    return count, GOES_ON
