"""Writes coefficients.rs: the polynomials of the elementary and special functions.

Run: python3 coefficients.py > coefficients.rs

Every polynomial interpolates its function at Chebyshev nodes in 60-digit arithmetic (within a small factor of the minimax
polynomial), has the least degree that meets the stated bound, and is rounded to the type it runs in. The comment on each array
gives the function, the interval and the largest relative error found between the nodes, before rounding the coefficients.
"""
import struct
import sys

import mpmath as mp

mp.mp.dps = 60


def to_f32(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def chebyshev(f, a, b, count):
    """Monomial coefficients, lowest first, of the interpolant of f at `count` Chebyshev nodes of [a, b]."""
    a, b = mp.mpf(a), mp.mpf(b)
    nodes = [(a + b) / 2 + (b - a) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    table = [f(x) for x in nodes]  # divided differences, then Newton form to monomials
    for order in range(1, count):
        for i in range(count - 1, order - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (nodes[i] - nodes[i - order])
    result = [table[-1]]
    for k in range(count - 2, -1, -1):
        shifted = [mp.mpf(0)] + result
        for i, c in enumerate(result):
            shifted[i] -= nodes[k] * c
        shifted[0] += table[k]
        result = shifted
    return result


def value(coefficients, x):
    total = mp.mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def fit(name, about, f, a, b, bound, single):
    """The interpolant of least degree whose relative error on [a, b] stays below `bound`."""
    a, b = mp.mpf(a), mp.mpf(b)
    points = [a + (b - a) * (k + mp.mpf(1) / 2) / 400 for k in range(400)] + [a, b]
    truth = [f(x) for x in points]
    for count in range(3, 40):
        coefficients = chebyshev(f, a, b, count)
        error = max(abs(value(coefficients, x) / y - 1) for x, y in zip(points, truth))
        if error <= bound:
            break
    else:
        sys.exit(f"{name}: no polynomial below degree 40 meets the bound")
    kind = "f32" if single else "f64"
    print(f"/// {about}, on [{mp.nstr(a, 6)}, {mp.nstr(b, 6)}]; relative error {mp.nstr(error, 2)}.")
    print(f"pub(super) const {name}: [{kind}; {count}] = [")
    for c in coefficients:
        print(f"    {to_f32(c)!r}," if single else f"    {float(c)!r},")
    print("];")


def both(name, about, f, a, b, bound_64, bound_32):
    fit(f"{name}_64", about, f, a, b, bound_64, False)
    fit(f"{name}_32", about, f, a, b, bound_32, True)


def truncate(x, bits):
    """x rounded to `bits` significant bits."""
    mantissa, exponent = mp.frexp(x)
    return mp.ldexp(mp.nint(mp.ldexp(mantissa, bits)), exponent - bits)


def constant(name, about, x, single=False):
    print(f"/// {about}.")
    print(f"pub(super) const {name}: {'f32' if single else 'f64'} = {to_f32(x)!r};" if single
          else f"pub(super) const {name}: f64 = {float(x)!r};")


def series(f, at_zero):
    """f with its removable singularity at 0 filled in."""
    return lambda x: mp.mpf(at_zero) if x == 0 else f(x)


print("//! Written by coefficients.py; see there for how the polynomials are found.")
print("#![allow(clippy::excessive_precision, clippy::approx_constant, clippy::unreadable_literal)]")
print()

# ln 2 in two pieces; the high one short enough that its product with any exponent is exact.
for bits, single in [(42, False), (16, True)]:
    kind = 32 if single else 64
    high = truncate(mp.ln(2), bits)
    constant(f"LN_2_HIGH_{kind}", f"ln 2 to {bits} bits", high, single)
    constant(f"LN_2_LOW_{kind}", "ln 2 less its high piece", mp.ln(2) - high, single)
high = truncate(mp.ln(2), 42)
middle = mp.mpf(float(mp.ln(2) - high))

half_ln_2 = mp.ln(2) / 2 + mp.mpf(1) / 1000
both("EXP", "(e^r − 1 − r) / r²", series(lambda r: (mp.expm1(r) - r) / r**2, 0.5), -half_ln_2, half_ln_2, 2**-55.0, 2**-25.0)

# ln((1 + s)/(1 − s)) = 2s + s R(s²), s at the ends of [√½, √2].
s2 = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1))**2 * mp.mpf("1.001")


def atanh_rest(z):
    return mp.nsum(lambda k: 2 * z**k / (2 * k + 3), [0, mp.inf]) if z == 0 else (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z


both("LN", "(2 atanh(s)/s − 2)/s² in s²", series(atanh_rest, mp.mpf(2) / 3), 0, s2, 2**-50.0, 2**-22.0)
fit("LN_REST_64", "the same less its value 2/3 at 0, divided by s², in s²",
    series(lambda z: (atanh_rest(z) - mp.mpf(2) / 3) / z, mp.mpf(2) / 5), 0, s2, 2**-54.0, False)

both("ERF", "erf(x)/x − 1 in x²", series(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 2 / mp.sqrt(mp.pi) - 1), 0, 0.2505,
     2**-53.0, 2**-24.0)

# t = (x − K)/(x + K) takes the half line x ≥ ½ to a part of [−1, 1].
CENTRE = mp.mpf(4)


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def tail(t):
    x = CENTRE * (1 + t) / (1 - t)
    return (1 + 2 * x) * erfcx(x)


def to_t(x):
    return (x - CENTRE) / (x + CENTRE)


fit("ERFC_64", "(1 + 2x) e^(x²) erfc(x) in (x − 4)/(x + 4)", tail, to_t(mp.mpf("0.499")), to_t(mp.mpf(28)), 2**-56.0, False)
fit("ERFC_32", "(1 + 2x) e^(x²) erfc(x) in (x − 4)/(x + 4)", tail, to_t(mp.mpf("0.499")), to_t(mp.mpf(11)), 2**-26.0, True)


def erfinv(x, y):
    """erfinv, given x = 1 − y with y possibly tiny, by Newton steps on erfc."""
    z = mp.erfinv(mp.mpf(float(x))) if x < 0.99 else mp.sqrt(-mp.log(y))
    for _ in range(60):
        step = (mp.erfc(z) - y) / (2 / mp.sqrt(mp.pi) * mp.exp(-z * z))
        z += step / (1 - z * step)
        if abs(step) < mp.mpf(10)**-50:
            break
    return z


def ratio(w):
    """erfinv(x)/x as a function of w = −ln(1 − x²)."""
    if w == 0:
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w))
    return erfinv(x, mp.exp(-w) / (1 + x)) / x


SPLIT = mp.mpf("6.25")
for kind, single, bound, last in [(64, False, 2**-53.0, 36.1), (32, True, 2**-26.0, 16.0)]:
    fit(f"ERFINV_CENTRE_{kind}", "erfinv(x)/x in −ln(1 − x²) − 3.125", lambda u: ratio(u + SPLIT / 2), -SPLIT / 2, SPLIT / 2 + mp.mpf("1e-3"),
        bound, single)
    middle_s = (mp.mpf("2.5") + mp.mpf(6)) / 2
    fit(f"ERFINV_TAIL_{kind}", "erfinv(x)/x in √(−ln(1 − x²)) − 4.25", lambda u: ratio((u + middle_s)**2), mp.mpf("2.499") - middle_s,
        mp.sqrt(last) - middle_s, bound, single)

# π/2 in three pieces; the first two short enough that products with |n| ≤ 2^20 are exact.
half_pi = mp.pi / 2
first = truncate(half_pi, 33)
second = truncate(half_pi - first, 33)
constant("HALF_PI_1", "π/2 to 33 bits", first)
constant("HALF_PI_2", "the next 33 bits of π/2", second)
constant("HALF_PI_3", "π/2 less the first two pieces", half_pi - first - second)
quarter = (mp.pi / 4)**2 * mp.mpf("1.001")
fit("SIN_64", "(sin(r)/r − 1)/r² in r²", series(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 6), 0, quarter, 2**-53.0, False)
fit("COS_64", "(cos(r) − 1 + r²/2)/r⁴ in r²", series(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, mp.mpf(1) / 24), 0, quarter, 2**-52.0, False)

eighth = mp.tan(mp.pi / 8)**2 * mp.mpf("1.001")
fit("ATAN_64", "(atan(u)/u − 1)/u² in u²", series(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 3), 0, eighth, 2**-54.0, False)

fit("LGAMMA_64", "ln Γ(2 + z)/z", series(lambda z: mp.loggamma(2 + z) / z, 1 - mp.euler), mp.mpf("-0.5"), mp.mpf("0.5"), 2**-54.0, False)


def listed(name, about, values):
    print(f"/// {about}.")
    print(f"pub(super) const {name}: [f64; {len(values)}] = [")
    for v in values:
        print(f"    {float(v)!r},")
    print("];")


# The asymptotic series in 1/x² of ln Γ, ψ and ψ', used for x ≥ 8, where the first term left out is below 2^-55 of the whole.
listed("STIRLING", "B_2k / (2k (2k − 1)), k = 1 …", [mp.bernoulli(2 * k) / (2 * k * (2 * k - 1)) for k in range(1, 10)])
listed("DIGAMMA", "B_2k / (2k), k = 1 …", [mp.bernoulli(2 * k) / (2 * k) for k in range(1, 11)])
listed("TRIGAMMA", "B_2k, k = 1 …", [mp.bernoulli(2 * k) for k in range(1, 12)])

# What ln x! and ψ(x + 1) have beside their leading terms, where neither the series above nor those at 0 serve.
low, high = 1 / mp.mpf(8) * mp.mpf("0.999"), 1 / mp.mpf("1.5") * mp.mpf("1.001")
middle_inverse = mp.mpf("0.390625")


def inverse(f):
    return lambda t: f(1 / (t + middle_inverse))


fit("LOG_FACTORIAL_64", "x (ln x! − (x + ½) ln x + x − ½ ln 2π) in 1/x − 0.390625",
    inverse(lambda x: x * (mp.loggamma(x + 1) - (x + mp.mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)),
    low - middle_inverse, high - middle_inverse, 2**-54.0, False)
fit("DIGAMMA_REMAINDER_64", "x (ψ(x + 1) − ln x) in 1/x − 0.390625", inverse(lambda x: x * (mp.digamma(x + 1) - mp.log(x))),
    low - middle_inverse, high - middle_inverse, 2**-55.0, False)
