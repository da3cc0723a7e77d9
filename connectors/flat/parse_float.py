"""Decimal numbers -> the nearest float64, as Python's ``float`` finds it.

What fits into the 53 bits of a float, times a power of ten that is exact, is one multiplication or
division (Clinger). For the rest a product with 128 bits of the power of ten tells the nearest float
(Eisel and Lemire, "Number parsing at a gigabyte per second") or that it cannot tell, which is left
to Python: such numbers are few, and so are those with more digits than 64 bits hold.
"""

from __future__ import annotations

import numpy as np

from stream_llsvm.connectors.flat.compile import Array, Begin, Bits, inside, part
from stream_llsvm.connectors.flat.pointers import byte, float_of

_LEAST, _MOST = -342, 308  # powers of ten between which a number may be a float
_DIGITS = 19  # that 64 bits hold, whichever they are
_EXACT = np.array([10.0**i for i in range(23)])


def _powers() -> Array:
    """Return the first 128 bits of each power of ten, in two halves, cut off and not rounded."""
    halves = []
    for power in range(_LEAST, _MOST + 1):
        # Scaled so that at least 128 bits lie before the point.
        scaled = 10**power << 128 if power >= 0 else (1 << 1400) // 10**-power
        top = scaled >> (scaled.bit_length() - 128)
        halves.append((top >> 64, top & (2**64 - 1)))
    return np.array(halves, dtype=np.uint64)


_POWERS = _powers()
_LOW32 = np.uint64(0xFFFFFFFF)
_SHIFT32 = np.uint64(32)
_ONE = np.uint64(1)
_TEN = np.uint64(10)
_ODD = (np.uint64(0), 0, False, -1)


@inside
def number(data: Begin, at: int, stop: int, strict: bool, point: int) -> tuple[float, int]:
    """Read a number: its value, and where it ends, which is -1 if it is left to Python.

    ``strict`` takes what JSON allows, otherwise it is what Python's ``float`` allows. ``point`` is
    the byte that stands before decimals.
    """
    digits, power, negative, at = _decimal(data, at, stop, strict, point)
    if at < 0:
        return 0.0, -1
    while power < 0 and digits > np.uint64(1 << 53) and digits % _TEN == 0:
        digits //= _TEN  # a whole number of many digits is often written with .0
        power += 1
    found = 0.0
    if digits <= np.uint64(1 << 53) and -22 <= power <= 22:
        found = np.float64(digits)
        found = found / _EXACT[-power] if power < 0 else found * _EXACT[power]
    elif digits and (power < _LEAST or power > _MOST):
        return 0.0, -1
    elif digits:
        nearest = _nearest(digits, power)
        if nearest == 0:
            return 0.0, -1
        found = float_of(nearest)
    return -found if negative else found, at


@part
def _decimal(
    data: Begin, at: int, stop: int, strict: bool, point: int
) -> tuple[Bits, int, bool, int]:
    """Read a number: its digits, its power of ten, its sign, and where it ends.

    Where it ends is -1 if it is none, or has too many digits.
    """
    negative = False
    if at < stop and byte(data, at) == 45:  # -
        negative = True
        at += 1
    elif not strict and at < stop and byte(data, at) == 43:  # +
        at += 1
    first = at
    digits = np.uint64(0)
    while at < stop:
        digit = byte(data, at) - 48
        if digit < 0 or digit > 9:
            break
        digits = digits * _TEN + np.uint64(digit)
        at += 1
    whole = at - first
    if strict and (whole == 0 or (whole > 1 and byte(data, first) == 48)):
        return _ODD
    behind = 0
    if at < stop and byte(data, at) == point:
        at += 1
        begin = at
        while at < stop:
            digit = byte(data, at) - 48
            if digit < 0 or digit > 9:
                break
            digits = digits * _TEN + np.uint64(digit)
            at += 1
        behind = at - begin
        if strict and behind == 0:
            return _ODD
    if whole + behind == 0:
        return _ODD
    if whole + behind > _DIGITS and _significant(data, first, at, point) > _DIGITS:
        return _ODD
    if strict and negative and behind == 0 and digits == 0:
        return _ODD  # a whole number in JSON has no sign if it is 0
    power = -behind
    if at < stop and byte(data, at) | 32 == 101:  # e or E
        at += 1
        below = False
        if at < stop and (byte(data, at) == 45 or byte(data, at) == 43):
            below = byte(data, at) == 45
            at += 1
        begin = at
        own = 0
        while at < stop and at - begin < 5:
            digit = byte(data, at) - 48
            if digit < 0 or digit > 9:
                break
            own = own * 10 + digit
            at += 1
        if at == begin or at - begin == 5:
            return _ODD
        power += -own if below else own
    return digits, power, negative, at


@part
def _significant(data: Begin, first: int, stop: int, point: int) -> int:
    """Return how many digits there are from the first that is not 0."""
    count = 0
    for at in range(first, stop):
        if byte(data, at) != point and (count or byte(data, at) != 48):
            count += 1
    return count


@part
def _nearest(digits: Bits, power: int) -> Bits:
    """Return the bits of the float nearest to digits * 10**power; 0 if that is not certain."""
    zeros = 0
    while digits >> np.uint64(63) == 0:
        digits <<= _ONE
        zeros += 1
    # 217706 / 2**16 is log2(10).
    exponent = (217706 * power >> 16) + 64 + 1023 - zeros
    high, low = _times(digits, _POWERS[power - _LEAST, 0])
    rest = np.uint64(0x1FF)
    if high & rest == rest and low + digits < low:
        # The bits that were cut off may matter: take 64 more.
        more, least = _times(digits, _POWERS[power - _LEAST, 1])
        sum_low = low + more
        if sum_low < low:
            high += _ONE
        if high & rest == rest and sum_low + _ONE == 0 and least + digits < least:
            return np.uint64(0)
        low = sum_low
    top = high >> np.uint64(63)
    mantissa = high >> (top + np.uint64(9))
    exponent -= 0 if top else 1
    if low == 0 and high & rest == 0 and mantissa & np.uint64(3) == _ONE:
        return np.uint64(0)  # just between two floats
    mantissa += mantissa & _ONE
    mantissa >>= _ONE
    if mantissa >> np.uint64(53) > 0:
        mantissa >>= _ONE
        exponent += 1
    if exponent < 1 or exponent > 2046:
        return np.uint64(0)  # too small to have all bits, or too large
    fraction = mantissa & np.uint64((1 << 52) - 1)
    return (np.uint64(exponent) << np.uint64(52)) | fraction


@part
def _times(a: Bits, b: Bits) -> tuple[Bits, Bits]:
    """Return the high and the low half of a product of 128 bits."""
    a1, a0, b1, b0 = a >> _SHIFT32, a & _LOW32, b >> _SHIFT32, b & _LOW32
    low = a0 * b0
    middle = a1 * b0 + (low >> _SHIFT32)
    other = a0 * b1 + (middle & _LOW32)
    return a1 * b1 + (middle >> _SHIFT32) + (other >> _SHIFT32), a * b
