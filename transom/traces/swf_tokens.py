"""A compiled scanner for lines of numbers; other lines are left to Python, which can report the error."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import no_refcount
from transom.models.arrays import FloatArray, IntArray

ANYTHING, NUMBER, WHOLE, REAL = range(4)
"""What a field may hold: any word; a number, which is only checked; a whole number or any number, which is kept."""

KIND, COLUMN = range(2)
"""Rows of a plan: what each field holds, and the column of the table that it goes to."""

LINE = 0
"""The column of the table with the numbers of the lines."""

POSITION, ROWS, LINES = range(3)
"""How far a scan has got: the next byte, the rows that are filled, the lines that are done."""

_TAB, _LINE_FEED, _RETURN, _SPACE, _PLUS, _MINUS, _POINT, _ZERO, _NINE = 9, 10, 13, 32, 43, 45, 46, 48, 57
_E_LARGE, _E_SMALL = 69, 101
_EXACT = 15  # so many digits and no more are exact as a float, and so is their quotient by a power of ten
_DIGITS = 18  # so many digits fit into 63 bits


@no_refcount
def scan(data: np.ndarray, plan: IntArray, table: IntArray, reals: FloatArray, at: IntArray) -> bool:
    """Read lines of numbers up to the end, or up to the first that is neither blank nor made of plain numbers.

    Plain is a number that comes out exactly as Python would have it: a sign and up to 18 digits, or with a decimal
    point or an exponent >= 0 as many as a float holds. All else is left: comments, longer numbers, words, another
    number of fields.

    Parameters
    ----------
    data : the bytes, uint8; the last one ends a line.
    plan : :data:`KIND` and :data:`COLUMN` of every field, shape ``(2, fields)``.
    table : where to, a row of the file in a column, shape ``(columns, rows)``.
    reals : the same memory as floating-point numbers.
    at : where to begin and, afterwards, how far it got.

    Returns
    -------
    Whether all lines are done; else the line at the position is for somebody else.
    """
    position, row, line = at[POSITION], at[ROWS], at[LINES]
    fields = plan.shape[1]
    while position < len(data):
        begin, field, plain = position, 0, True
        byte = np.int64(data[position])
        while plain:
            while byte == _SPACE or (_TAB <= byte < _RETURN and byte != _LINE_FEED):
                position += 1
                byte = np.int64(data[position])
            if byte in (_LINE_FEED, _RETURN):
                break
            if field == fields:
                plain = False
                break
            kind = plan[KIND, field]
            if kind == ANYTHING:
                while byte != _SPACE and not _TAB <= byte <= _RETURN:
                    position += 1
                    byte = np.int64(data[position])
                field += 1
                continue
            sign = byte
            if sign in (_MINUS, _PLUS):
                position += 1
                byte = np.int64(data[position])
            first = position
            value, scale = np.int64(0), np.int64(1)
            while _ZERO <= byte <= _NINE:
                value = value * 10 + (byte - _ZERO)
                position += 1
                byte = np.int64(data[position])
            whole = digits = position - first
            if byte == _POINT:
                while True:
                    position += 1
                    byte = np.int64(data[position])
                    if not _ZERO <= byte <= _NINE:
                        break
                    value = value * 10 + (byte - _ZERO)
                    scale = scale * 10
                    digits += 1
            integer, power = digits == position - first, np.int64(0)
            if byte in (_E_SMALL, _E_LARGE) and digits > 0:
                position += 1
                byte = np.int64(data[position])
                if byte == _PLUS:
                    position += 1
                    byte = np.int64(data[position])
                first = position
                while _ZERO <= byte <= _NINE and position - first < 2:
                    power = power * 10 + (byte - _ZERO)
                    position += 1
                    byte = np.int64(data[position])
                integer, plain = False, position > first
            # What is only checked must be below 10**18, and a float that is kept must be exact.
            short = whole + power <= _DIGITS if kind == NUMBER or integer else digits + power <= _EXACT
            if digits == 0 or not short or not (byte == _SPACE or _TAB <= byte <= _RETURN):
                plain = False
            if plain and kind != NUMBER:
                for _ in range(power):
                    value = value * 10
                if kind == REAL:
                    real = value / scale
                    reals[plan[COLUMN, field], row] = -real if sign == _MINUS else real
                elif value % scale == 0:
                    value = value // scale
                    table[plan[COLUMN, field], row] = -value if sign == _MINUS else value
                else:
                    plain = False
            field += 1
        if not plain or (0 < field < fields):
            at[POSITION], at[ROWS], at[LINES] = begin, row, line
            return False
        line += 1
        if field:
            table[LINE, row] = line
            row += 1
        position += 1
        if byte == _RETURN and position < len(data) and data[position] == _LINE_FEED:
            position += 1
    at[POSITION], at[ROWS], at[LINES] = position, row, line
    return True
