"""Writes schemes.csv: delta of composed steps for every pair of laws, by sums and quadrature in 30 digits.

Nothing here discretises a loss. One step has a closed form or a sum; two steps are
    delta_2(e) = E_P[delta_1(e - loss)],
a sum over atoms and an integral over outcomes; more steps of a discrete mechanism are exact multinomial sums.

Run: python3 schemes.py > schemes.csv   (Python 3, mpmath 1.3 or newer)
"""

import json
import sys
from itertools import product

import mpmath as mp

mp.mp.dps = 30
M = mp.mpf


def tail(z):
    """The mass of the standard normal law above z."""
    return mp.erfc(z / mp.sqrt(2)) / 2


class Step:
    """One step: `curve(e)` is delta for any real e, `expect(f, kinks)` the mean of f(loss) under P."""

    def two(self, e):
        e = M(e)
        return self.expect(lambda loss: self.curve(e - loss), [e - k for k in self.kinks()]) + self.infinite()

    def infinite(self):
        return M(0)


class Normals(Step):
    """P = sum p_i N(m_i, s^2), Q = sum q_i N(m_i, s^2), the loss increasing in the outcome."""

    def __init__(self, p, q, s, flip=False):
        # With `flip` the pair is (Q, P): the loss of an outcome is -loss.
        self.p, self.q, self.s, self.flip = p, q, M(s), flip

    def ratio(self, x):
        # log of sums of exponentials, relative to N(0)
        def log(parts):
            return mp.log(mp.fsum(w * mp.exp((x * m - M(m) ** 2 / 2) / self.s**2) for m, w in parts if w))
        return log(self.p) - log(self.q)

    def outcome(self, level):
        low, high = M(-1), M(1)
        while self.ratio(low) > level:
            low *= 2
            if low < -400 * self.s - 400:
                return -mp.inf
        while self.ratio(high) < level:
            high *= 2
        for _ in range(18):
            middle = (low + high) / 2
            low, high = (middle, high) if self.ratio(middle) < level else (low, middle)
        # The secant method from a narrow bracket.
        return mp.findroot(lambda x: self.ratio(x) - level, (low, high), solver="secant", tol=1e-50, maxsteps=60)

    def above(self, parts, x):
        return mp.fsum(w * tail((x - m) / self.s) for m, w in parts)

    def below(self, parts, x):
        return mp.fsum(w * tail((m - x) / self.s) for m, w in parts)

    def curve(self, e):
        if self.flip:
            x = self.outcome(-e)
            if x == -mp.inf:
                return M(0)
            return self.below(self.q, x) - mp.exp(e) * self.below(self.p, x)
        x = self.outcome(e)
        if x == -mp.inf:
            return 1 - mp.exp(e)
        return self.above(self.p, x) - mp.exp(e) * self.above(self.q, x)

    def kinks(self):
        # The profile of a mixture that contains Q itself stops at log(1 - q).
        return []

    def density(self, parts, x):
        return mp.fsum(w * mp.npdf(x, m, self.s) for m, w in parts)

    def expect(self, f, kinks, start=None):
        sign = -1 if self.flip else 1
        means = sorted(m for m, w in self.p + self.q)
        points = [M(means[0]) - 12 * self.s, *[M(m) for m in means], M(means[-1]) + 12 * self.s]
        for k in kinks:
            points.append(self.outcome(sign * k))
        if start is not None:
            points = [x for x in points if x > start] + [start]
        points = sorted({x for x in points if mp.isfinite(x)})
        parts = self.q if self.flip else self.p
        return mp.quad(lambda x: self.density(parts, x) * f(sign * self.ratio(x)), points)


def sampled(sigma, rate, flip=False):
    """The pair ((1-q) N(0) + q N(1), N(0))."""
    step = Normals([(0, 1 - M(rate)), (1, M(rate))], [(0, M(1))], sigma, flip)
    edge = mp.log1p(-M(rate))
    step.kinks = lambda: [-edge if flip else edge]
    return step


class Mirror(Step):
    """Weighted pairs' positive losses, their mirror images, and the rest at zero."""

    def __init__(self, parts):
        self.parts = parts

    def half(self, e):
        return mp.fsum(w * part.curve(e) for w, part in self.parts)

    def curve(self, e):
        return self.half(e) if e >= 0 else 1 - mp.exp(e) + mp.exp(e) * self.half(-e)

    def kinks(self):
        return [M(0)]

    def expect(self, f, kinks):
        total, rest = M(0), M(1)
        for w, part in self.parts:
            zero = part.outcome(M(0))
            both = lambda loss: f(loss) + mp.exp(-loss) * f(-loss)
            total += w * part.expect(both, kinks + [-k for k in kinks], zero)
            rest -= w * (part.above(part.p, zero) + part.above(part.q, zero))
        return total + rest * f(M(0))


class Discrete(Step):
    """A list of (p, loss); `only` is P's mass at infinite loss."""

    def __init__(self, atoms, only=M(0)):
        self.atoms, self.only = atoms, only

    def curve(self, e):
        return mp.fsum(p * (1 - mp.exp(e - l)) for p, l in self.atoms if l > e) + self.only

    def kinks(self):
        return []

    def expect(self, f, kinks):
        return mp.fsum(p * f(l) for p, l in self.atoms)

    def infinite(self):
        return self.only

    def times(self, count, e):
        """Exact composition: a multinomial sum."""
        # Multinomial: how often each atom occurred.
        result = M(0)
        for counts in product(range(count + 1), repeat=len(self.atoms) - 1):
            left = count - sum(counts)
            if left < 0:
                continue
            all_counts = (*counts, left)
            ways = mp.factorial(count)
            loss, mass = M(0), M(1)
            for (p, l), k in zip(self.atoms, all_counts):
                ways /= mp.factorial(k)
                mass *= p**k
                loss += k * l
            if loss > e:
                result += ways * mass * (1 - mp.exp(e - loss))
        finite = mp.fsum(p for p, _ in self.atoms)
        return result + 1 - finite**count


def sampled_atoms(pairs, rate, flip=False, only=M(0)):
    """((1-q) Q + q P, Q) or its reverse for atoms (p, q); `only` is the mass that either law has for itself."""
    rate = M(rate)
    atoms = [((1 - rate) * q + rate * p, q) for p, q in pairs]
    if only and rate < 1:
        atoms.append(((1 - rate) * only, only))
    certain = (only if rate == 1 else M(0)) if flip else rate * only
    if flip:
        atoms = [(q, p) for p, q in atoms]
    return Discrete([(p, mp.log(p / q)) for p, q in atoms], certain)


def mirrored_atoms(pairs, rate, only=M(0)):
    up = sampled_atoms(pairs, rate, False, only)
    top = [(p, l) for p, l in up.atoms if l > mp.mpf(10) ** -25]
    atoms = top + [(p * mp.exp(-l), -l) for p, l in top]
    rest = 1 - mp.fsum(p for p, _ in atoms) - up.only
    return Discrete(atoms + [(rest, M(0))], up.only)


class Laplace(Step):
    """The sampled Laplace pair in the coordinate t, the loss without sampling."""

    def __init__(self, gap, rate, flip=False):
        self.g, self.rate, self.flip = M(gap), M(rate), flip

    def loss(self, t):
        loss = mp.log(1 - self.rate + self.rate * mp.exp(t))
        return -loss if self.flip else loss

    def laws(self, t):
        """Densities of P and Q at t."""
        shifted, other = mp.exp((t - self.g) / 2) / 4, mp.exp(-(t + self.g) / 2) / 4
        return self.order(shifted, other)

    def order(self, shifted, other):
        p = (1 - self.rate) * other + self.rate * shifted
        return (other, p) if self.flip else (p, other)

    def atoms(self):
        rare = mp.exp(-self.g) / 2
        return [(-self.g, *self.order(rare, M(1) / 2)), (self.g, *self.order(M(1) / 2, rare))]

    def kinks(self):
        return [self.loss(-self.g), self.loss(self.g)]

    def level(self, e):
        """The t with loss e, or None."""
        inner = (mp.exp(-e if self.flip else e) - 1 + self.rate) / self.rate
        return mp.log(inner) if inner > 0 else -mp.inf

    def curve(self, e):
        t = min(max(self.level(e), -self.g), self.g)
        low, high = (-self.g, t) if self.flip else (t, self.g)
        # Integrals of e^((t-g)/2)/4 and e^(-(t+g)/2)/4.
        shifted = (mp.exp((high - self.g) / 2) - mp.exp((low - self.g) / 2)) / 2
        other = (mp.exp(-(low + self.g) / 2) - mp.exp(-(high + self.g) / 2)) / 2
        p, q = self.order(shifted, other)
        value = p - mp.exp(e) * q
        for t, p, q in self.atoms():
            value += max(M(0), p - mp.exp(e) * q)
        return value

    def expect(self, f, kinks):
        points = {-self.g, self.g}
        for k in kinks:
            t = self.level(k)
            if -self.g < t < self.g:
                points.add(t)
        value = mp.quad(lambda t: self.laws(t)[0] * f(self.loss(t)), sorted(points))
        return value + mp.fsum(p * f(self.loss(t)) for t, p, _ in self.atoms())


def laplace_ten(gap, count, e):
    """`count` Laplace steps without sampling: multinomial in the atoms, a spline for the rest."""
    g, e = M(gap), M(e)
    up, down = M(1) / 2, mp.exp(-g) / 2
    result = M(0)
    for k in range(count + 1):
        # The k-fold convolution of the indicator of [-g, g], and the density e^(s/2 - k g/2)/4^k times it.
        def spline(s):
            if k == 1:
                return M(1)
            terms = [(-1) ** j * mp.binomial(k, j) * max(s + k * g - 2 * g * j, 0) ** (k - 1) for j in range(k + 1)]
            return mp.fsum(terms) / mp.factorial(k - 1)

        for i in range(count - k + 1):
            j = count - k - i
            ways = mp.factorial(count) / (mp.factorial(k) * mp.factorial(i) * mp.factorial(j))
            weight = ways * up**i * down**j
            fixed = (i - j) * g
            if k == 0:
                result += weight * max(M(0), 1 - mp.exp(e - fixed))
                continue
            start = e - fixed
            knots = [(2 * n - k) * g for n in range(k + 1)]
            points = [x for x in knots if x > start]
            if not points:
                continue
            points = [start, *points] if start >= knots[0] else points
            body = lambda s: mp.exp((s - k * g) / 2) / M(4) ** k * spline(s) * (1 - mp.exp(e - fixed - s))
            result += weight * mp.quad(body, points)
    return result


def discrete_normal(sigma, shift, reach=60):
    weight = lambda x: mp.exp(-M(x) ** 2 / (2 * M(sigma) ** 2))
    total = mp.fsum(weight(x) for x in range(-4 * reach, 4 * reach + 1))
    return [(weight(x - shift) / total, weight(x) / total) for x in range(-reach, reach + shift + 1)]


def discrete_five(sigma, shift, count, e):
    """The loss is a multiple of the sum of all outcomes, whose law is a convolution."""
    law = [p for p, _ in discrete_normal(sigma, 0, 60)]
    total = [M(1)]
    for _ in range(count):
        new = [M(0)] * (len(total) + len(law) - 1)
        for a, x in enumerate(total):
            for b, y in enumerate(law):
                new[a + b] += x * y
        total = new
    result = M(0)
    for index, mass in enumerate(total):
        s = index - 60 * count  # sum of centred outcomes under P
        loss = M(shift) / M(sigma) ** 2 * (s + M(count) * shift / 2)
        if loss > e:
            result += mass * (1 - mp.exp(e - loss))
    return result


def guarantee(epsilon, delta):
    likely = (1 - M(delta)) / (1 + mp.exp(-M(epsilon)))
    return [(likely * mp.exp(-M(epsilon)), likely), (likely, likely * mp.exp(-M(epsilon)))]


def binomial(count, records, most):
    p = 1 / M(records)
    return [mp.binomial(count, k) * p**k * (1 - p) ** (count - k) for k in range(min(count, most) + 1)]


def row(relation, mechanism, sampling, count, e, lower, upper=None):
    event = json.dumps({"version": 2, "mechanism": mechanism, "sampling": sampling}, separators=(",", ":"))
    upper = lower if upper is None else upper
    print(f"{relation};{event};{count};{e};{mp.nstr(lower, 20)};{mp.nstr(upper, 20)}")
    sys.stdout.flush()


def main():
    print(f"# delta from below and above. schemes.py, mpmath {mp.__version__}, 30 digits; sums exact, quadrature to 15 digits.")
    print("relation;event;count;epsilon;lower;upper")
    gauss = lambda s: {"gaussian": {"noise_multiplier": s}}
    wor = lambda m, n: {"without_replacement": {"batch": m, "records": n}}
    best = lambda steps, e: max(step.two(M(e)) for step in steps)

    # Exact sums.
    response = {"randomized_response": {"categories": 4, "truth_probability": 0.4}}
    lie = (1 - M(0.4)) / 3
    atoms = [(lie, M(0.4)), (2 * lie, 2 * lie), (M(0.4), lie)]
    for count, e in [(1, 0.3), (100, 2.0), (100, 10.0)]:
        row("replace_one", response, "none", count, e, sampled_atoms(atoms, 1).times(count, M(e)))
    both = [sampled_atoms(atoms, 0.25, flip) for flip in (False, True)]
    low = max(step.times(12, M(0.5)) for step in both)
    row("replace_one", response, wor(1, 4), 12, 0.5, low, mirrored_atoms(atoms, 0.25).times(12, M(0.5)))
    row("add_remove", response, wor(1, 4), 12, 0.5, low)
    for relation in ["add_remove", "replace_one"]:
        row(relation, {"pure_dp": {"epsilon": 0.1}}, "none", 200, 1.5,
            sampled_atoms(guarantee(0.1, 0), 1).times(200, M(1.5)))
        row(relation, {"approximate_dp": {"epsilon": 0.5, "delta": 1e-6}}, "none", 30, 4.0,
            sampled_atoms(guarantee(0.5, 1e-6), 1, False, M(1e-6)).times(30, M(4)))
    pairs, only = guarantee(1, 0.001), M(0.001)
    both = [sampled_atoms(pairs, 0.125, flip, only) for flip in (False, True)]
    low = max(step.times(8, M(0.75)) for step in both)
    row("add_remove", {"approximate_dp": {"epsilon": 1.0, "delta": 0.001}}, {"poisson": {"rate": 0.125}}, 8, 0.75, low)
    row("replace_one", {"approximate_dp": {"epsilon": 1.0, "delta": 0.001}}, wor(1, 8), 8, 0.75, low,
        mirrored_atoms(pairs, 0.125, only).times(8, M(0.75)))
    discrete = {"discrete_gaussian": {"sigma": 3.0, "sensitivity": 2}}
    for e in [0.5, 3.0, 8.0]:
        row("add_remove", discrete, "none", 5, e, discrete_five(3, 2, 5, M(e)))
        row("replace_one", discrete, "none", 5, e, discrete_five(3, 4, 5, M(e)))
    pairs = discrete_normal(2, 1, 40)
    both = [sampled_atoms(pairs, 0.1, flip) for flip in (False, True)]
    row("add_remove", {"discrete_gaussian": {"sigma": 2.0, "sensitivity": 1}}, {"poisson": {"rate": 0.1}}, 2, 0.125,
        best(both, 0.125))
    pairs = discrete_normal(2, 2, 40)
    both = [sampled_atoms(pairs, 0.25, flip) for flip in (False, True)]
    row("replace_one", {"discrete_gaussian": {"sigma": 2.0, "sensitivity": 1}}, wor(1, 4), 2, 0.25, best(both, 0.25),
        mirrored_atoms(pairs, 0.25).two(M(0.25)))

    # Splines and quadrature.
    for e in [1.0, 4.0]:
        row("add_remove", {"laplace": {"scale": 2.0}}, "none", 10, e, laplace_ten(0.5, 10, e))
    row("replace_one", {"laplace": {"scale": 4.0}}, "none", 10, 4.0, laplace_ten(0.5, 10, 4))
    for scale, rate, e in [(1.0, 0.25, 0.25), (0.25, 0.01, 0.5)]:
        both = [Laplace(1 / M(scale), rate, flip) for flip in (False, True)]
        row("add_remove", {"laplace": {"scale": scale}}, {"poisson": {"rate": rate}}, 2, e, best(both, e))
    both = [Laplace(2, 0.25, flip) for flip in (False, True)]
    row("add_remove", {"laplace": {"scale": 1.0}}, wor(1, 4), 2, 0.5, best(both, 0.5))

    for s, m, n, e in [(2.0, 1, 4, 0.5), (1.0, 1, 64, 0.25)]:
        both = [sampled(M(s) / 2, M(m) / n, flip) for flip in (False, True)]
        low = best(both, e)
        row("add_remove", gauss(s), wor(m, n), 2, e, low)
        row("replace_one", gauss(s), wor(m, n), 2, e, low, Mirror([(M(1), both[0])]).two(M(e)))
    for s, rate, e in [(1.0, 0.25, 0.5), (0.5, 0.125, 2.0)]:
        step = Normals([(0, 1 - M(rate)), (1, M(rate))], [(0, 1 - M(rate)), (-1, M(rate))], s)
        row("replace_one", gauss(s), {"poisson": {"rate": rate}}, 2, e, step.two(M(e)))
    for s, m, n, e in [(2.0, 4, 16, 0.5), (4.0, 10, 10, 1.0)]:
        b = binomial(m, n, 40)
        parts = [(k, w) for k, w in enumerate(b)]
        pairs = [Normals(parts, [(0, M(1))], M(s) / 2, flip) for flip in (False, True)]
        for flip, step in enumerate(pairs):
            step.kinks = (lambda edge: lambda: [edge])((-1 if flip else 1) * mp.log(b[0]))
        low = best(pairs, e)
        sampling = {"with_replacement": {"batch": m, "records": n}}
        row("add_remove", gauss(s), sampling, 2, e, low)
        some = 1 - b[0]
        tags = [(w / some, sampled(M(s) / 2 / k, some)) for k, w in enumerate(b) if k > 0]
        row("replace_one", gauss(s), sampling, 1, e, max(step.curve(M(e)) for step in pairs), Mirror(tags).curve(M(e)))
        if m <= 4:
            row("replace_one", gauss(s), sampling, 2, e, low, Mirror(tags).two(M(e)))


main()
