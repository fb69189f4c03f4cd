"""delta of compositions whose loss is dominated by rare large losses, with 50 digits: writes rare_losses.csv.

Two methods, neither of which shares anything with the crate's engines but the pairs of laws:

inversion   Bromwich's integral of E exp(zL)^T e^(-z epsilon) / (z (z+1)) along a line so near to the imaginary axis that no moment is
            dominated by rare losses. Tens of digits cancel there, which 50 digits survive. Trapezoidal rule in the frequency and in
            the outcome; the inner loops run in gmpy2.
quadrature  For one and two steps the integral of the closed form for one step over the losses of the other one (Gauss-Legendre on
            subintervals).

Every value is computed twice, with other windows, spacings and contours or with other subintervals. The script stops unless the two
agree to a relative 1e-16. Parameters are the binary64 numbers nearest to the decimals in the file.

Run: python3 rare_losses.py > rare_losses.csv   (mpmath 1.3.0 with gmpy2 2.3.2, about five minutes)
"""

import sys

import gmpy2
import mpmath as mp

mp.mp.dps = 50
gmpy2.get_context().precision = 200
M = mp.mpf


def to_gmp(z):
    """The number in the arithmetic of the inner loops, which is ten times as fast."""
    return gmpy2.mpc(gmpy2.mpfr(mp.nstr(z.real, 60)), gmpy2.mpfr(mp.nstr(z.imag, 60)))


def from_gmp(z):
    return mp.mpc(M(z.real.__format__(".60e")), M(z.imag.__format__(".60e")))


def exactly(text):
    """The binary64 number that the text stands for in the tests, without another rounding."""
    return M(float(text))


class Law:
    """One step. Losses are given for the outcomes of the dominating pair."""

    def __init__(self, relation, sigma, rate, steps, add=False):
        self.relation, self.s, self.q, self.steps, self.add = relation, exactly(sigma), exactly(rate), steps, add

    def log_ratio(self, x):
        return mp.log1p(self.q * mp.expm1((x - M(1) / 2) / self.s**2))

    def loss(self, x):
        if self.relation == "replace_one":
            return self.log_ratio(x) - self.log_ratio(-x)
        return -self.log_ratio(x) if self.add else self.log_ratio(x)

    def log_density(self, x):
        base = -(x**2) / (2 * self.s**2) - mp.log(self.s * mp.sqrt(2 * mp.pi))
        return base if self.add else base + self.log_ratio(x)


def inversion(laws, squared_mu, epsilon, tilt, slack):
    """delta by the trapezoidal rule; `slack` below 1 makes everything finer and wider."""
    c = M(tilt) * (1 if slack == 1 else M(9) / 10)
    window = M(115) / c / M(slack)
    step = 2 * mp.pi / window
    tables = []
    for law in laws:
        square = law.s**2
        h = min(square / 20, law.s / 5) * M(slack)
        low, high = -law.s * 16 - 1, law.s * 16 + 2 + c
        xs = [k * h for k in range(int(low / h), int(high / h) + 1)]
        weights, turns = [], []
        for x in xs:
            loss = law.loss(x)
            weight = h * mp.exp(law.log_density(x) + c * loss)
            if weight > M(10) ** -80:
                weights.append(to_gmp(mp.mpc(weight)))
                turns.append(to_gmp(mp.expj(step * loss)))
        tables.append([law.steps, weights, turns])
    total, small, k = M(0), 0, 0
    epsilon = exactly(epsilon)
    while small < 8:
        t = k * step
        z = mp.mpc(c, t)
        log = squared_mu * z * (z + 1) / 2 - z * epsilon
        for table in tables:
            count, weights, turns = table
            log += count * mp.log(from_gmp(sum(weights)))
            table[1] = [w * r for w, r in zip(weights, turns)]
        term = mp.exp(log) / (z * (z + 1))
        total += (M(1) / 2 if k == 0 else 1) * term.real
        small = small + 1 if abs(term) < abs(total) * M(10) ** -24 else 0
        k += 1
    print(f"  inversion at {mp.nstr(c, 4)}: {k} frequencies", file=sys.stderr)
    return total * step / mp.pi


def tail(z):
    return mp.erfc(z / mp.sqrt(2)) / 2


def outcome(law, loss):
    """The outcome with a loss, or None."""
    q, s = law.q, law.s
    if law.relation == "replace_one":
        c = mp.exp(M(1) / (2 * s**2))
        return s**2 * (loss / 2 + mp.asinh((1 - q) / q * mp.sinh(loss / 2) * c))
    inner = 1 + mp.expm1(-loss if law.add else loss) / q
    return s**2 * mp.log(inner) + M(1) / 2 if inner > 0 else None


def one_step(law, epsilon):
    """The closed form: the masses of both laws where the loss exceeds epsilon."""
    q, s, x = law.q, law.s, outcome(law, epsilon)
    if law.relation == "replace_one":
        base = (1 - q) * tail(x / s)
        return base + q * tail((x - 1) / s) - mp.exp(epsilon) * (base + q * tail((x + 1) / s))
    if law.add:
        if x is None:
            return M(0)
        return tail(-x / s) - mp.exp(epsilon) * ((1 - q) * tail(-x / s) + q * tail((1 - x) / s))
    if x is None:
        return -mp.expm1(epsilon)
    return (1 - q) * tail(x / s) + q * tail((x - 1) / s) - mp.exp(epsilon) * tail(x / s)


def steps_by_quadrature(laws, epsilon, parts, degree):
    """delta of a few steps: the expectation over the first one's outcome."""
    law, rest = laws[0], laws[1:]
    if not rest:
        return one_step(law, epsilon)
    low, high = -law.s * 14 - 1, law.s * 14 + 2
    points = [low + (high - low) * k / parts for k in range(parts + 1)]
    # What the rest has to lose changes its sign where this step loses epsilon, on the scale of what the rest usually loses; and its
    # profile has a kink of infinite order at its smallest loss.
    scale = max(other.q for other in rest)
    losses = [epsilon + sign * scale * M(3) ** k / 10 for sign in (-1, 1) for k in range(8)]
    losses += [epsilon, epsilon - sum((-1 if other.add else 1) * mp.log1p(-other.q) for other in rest)]
    found = [outcome(law, loss) for loss in losses]
    points = sorted([*points, *[x for x in found if x is not None and low < x < high]])
    body = lambda x: mp.exp(law.log_density(x)) * steps_by_quadrature(rest, epsilon - law.loss(x), parts, degree)
    return mp.fsum(
        mp.quad(body, [a, b], method="gauss-legendre", maxdegree=degree) for a, b in zip(points, points[1:])
    )


def directions(relation, parts):
    """The laws of each direction, for (noise multiplier, rate, steps)."""
    if relation == "replace_one":
        return [[Law(relation, *part) for part in parts]]
    return [[Law(relation, *part, add) for part in parts] for add in (False, True)]


def row(relation, parts, release, epsilon, first, second):
    if abs(first - second) > M(10) ** -16 * abs(first):
        sys.exit(f"{relation} {parts} {release}: {first} {second}")
    text = "+".join(f"{sigma}:{rate}:{steps}" for sigma, rate, steps in parts)
    print(f"{relation},{text},{release or ''},{epsilon},{mp.nstr(first, 20)}")
    sys.stdout.flush()


def by_inversion(relation, parts, release, epsilon, tilt):
    sensitivity = 2 if relation == "replace_one" else 1
    squared_mu = (sensitivity / exactly(release)) ** 2 if release else M(0)
    both = [
        [inversion(laws, squared_mu, epsilon, tilt, slack) for slack in (1, M(8) / 10)]
        for laws in directions(relation, parts)
    ]
    row(relation, parts, release, epsilon, *max(both))


def by_quadrature(relation, parts, epsilon):
    spread = [[(sigma, rate, 1) for sigma, rate, steps in parts for _ in range(steps)]]
    both = []
    for laws in directions(relation, spread[0]):
        count, degree = (30, 7) if len(laws) < 3 else (12, 5)
        both.append([steps_by_quadrature(laws, exactly(epsilon), n, degree) for n in (count, count + 5)])
    row(relation, parts, None, epsilon, *max(both))


# (relation, steps as (noise multiplier, rate, count), epsilon)
QUADRATURE = [
    ("replace_one", [("3.75", "6e-6", 1)], "2e-6"),
    ("replace_one", [("0.75", "1.25e-4", 2)], "1.5e-3"),
    ("add_remove", [("0.6875", "2.75e-7", 2)], "0.003"),
    ("add_remove", [("2", "1e-5", 1), ("3.25", "4e-7", 1)], "1.5e-4"),
    ("add_remove", [("0.5", "1e-7", 1)], "2"),
    ("add_remove", [("4", "1e-3", 1), ("0.5", "1e-9", 1)], "7.5e-4"),
]
# (relation, steps, noise multiplier of one more release, epsilon, tilt)
INVERSION = [
    ("add_remove", [("4", "1e-3", 1000)], None, "0.04", 20),
    ("add_remove", [("1", "1e-4", 100000)], None, "0.2355", 8),
    ("add_remove", [("1", "1e-4", 100000)], None, "0.5", 8),
    ("replace_one", [("1", "1e-4", 100000)], None, "0.3", 8),
    ("replace_one", [("0.7", "2.5e-5", 5000000)], None, "1.9", 3),
    ("add_remove", [("0.5", "1e-5", 1000000)], None, "4", 1),
    ("replace_one", [("0.65", "3.5e-6", 45000)], "64", "0.125", 3),
    ("add_remove", [("0.65", "2e-6", 30000), ("2.5", "1e-4", 50000)], "40", "0.25", 3),
    ("add_remove", [("2", "1e-3", 10000)], None, "0.45", 8),
    ("replace_one", [("3", "1e-4", 10000000)], None, "0.9", 8),
    ("replace_one", [("2", "3e-5", 1000000)], None, "0.12", 20),
    ("add_remove", [("4", "1e-5", 10000000)], None, "0.04", 40),
    ("add_remove", [("1.5", "1e-3", 1000000)], None, "4", 3),
    ("replace_one", [("0.5", "1e-6", 100000)], "30", "2", 1),
    ("replace_one", [("0.625", "4.5e-7", 7000000)], None, "0.03", 2),
    ("add_remove", [("1.0625", "1.25e-7", 2500000)], None, "1.375e-3", 8),
]


def main():
    print(f"# delta at epsilon of rare large losses: rare_losses.py, mpmath {mp.__version__} and gmpy2 {gmpy2.version()}, 50 digits.")
    print("# Each value was computed twice (see there); the two agree to a relative 1e-16, which is the precision of the rows.")
    print("relation,steps,release,epsilon,delta")
    for setting in QUADRATURE:
        by_quadrature(*setting)
    for setting in INVERSION:
        by_inversion(*setting)


if __name__ == "__main__":
    main()
