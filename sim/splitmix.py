"""Numbers by chance from a seed, the same on every machine and in every Python: SplitMix64, in integers alone.

Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014; its constants are those of the
reference code by Vigna.
"""

MASK = (1 << 64) - 1
FRACTION_BITS = 20
"""Binary digits behind the point of `exponential`."""
LN_2 = 726_817
"""The natural logarithm of 2, times 2**20."""


class SplitMix64:
    """One stream of numbers.

    Args:
        seed: any integer; its last 64 bits count.

    >>> SplitMix64(0).next()
    16294208416658607535
    """

    def __init__(self, seed: int) -> None:
        self._state = seed & MASK

    def next(self) -> int:
        """The next number, from 0 to 2**64 - 1, all equally likely."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & MASK
        value = self._state
        value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
        value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
        return value ^ value >> 31

    def below(self, count: int) -> int:
        """One of the `count` numbers from 0 on; for counts below 2**32 as good as equally likely."""
        return self.next() * count >> 64

    def exponential(self) -> int:
        """A length or a wait with the mean 1 and the exponential distribution, times 2**20."""
        return minus_ln(self.next() + 1)


def minus_ln(numerator: int) -> int:
    """Minus the natural logarithm of `numerator` / 2**64, times 2**20, off by less than 40.

    The binary digits of a logarithm come one by one: square the number, and see whether it has passed 2.

    Args:
        numerator: from 1 to 2**64.
    """
    num_halvings = 65 - numerator.bit_length()
    # From 1 to below 2, in units of 2**-63.
    value = numerator << 64 >> numerator.bit_length()
    digits = 0
    for _ in range(FRACTION_BITS):
        value = value * value >> 63
        is_set = value >> 64
        value >>= is_set
        digits = digits << 1 | is_set
    return ((num_halvings << FRACTION_BITS) - digits) * LN_2 >> FRACTION_BITS
