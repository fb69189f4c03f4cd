"""Writes discrete.csv: densities, moments, entropies, distribution functions and quantiles of the discrete distributions, with mpmath.

Run: python3 discrete.py > discrete.csv

Log probabilities are log-gamma functions at 110 digits, distribution functions sums of them (small counts) or quadrature of the
gamma and beta densities that they are integrals of (large counts); moments are sums over the support where that is finite.

Each row tells how well its value is determined: sensitivity is the sum over the parameters p of |p df/dp|, by differences at 110 digits.
"""
import sys

import mpmath as mp

mp.mp.dps = 110
M = mp.mpf
print(f"# mpmath {mp.__version__}, Python {sys.version.split()[0]}, 110 digits of working precision")
print("# columns: distribution, quantity, parameters, x (several numbers are separated by blanks), value, sensitivity")


def numbers(values):
    return " ".join(repr(float(v)) for v in values)


def row(name, quantity, parameters, x, function):
    """function(parameters) at the parameters; how it changes with each of them that is not an integer count."""
    exact = [M(p) for p in parameters]
    value = function(exact)
    sensitivity = M(0)
    for i, p in enumerate(exact):
        # Totals and bounds are integers, and exact.
        if p == 0 or (name, i) in INTEGERS:
            continue
        h = abs(p) * M(10)**-30
        up, down = list(exact), list(exact)
        up[i] += h
        down[i] -= h
        sensitivity += abs((function(up) - function(down)) / (2 * h) * p)
    print(f"{name},{quantity},{numbers(parameters)},{numbers(x)},{mp.nstr(value, 17)},{mp.nstr(sensitivity, 3)}")


INTEGERS = {(name, 0) for name in ["binomial_probs", "binomial_logits", "multinomial_probs", "multinomial_logits", "dirichlet_multinomial"]} \
    | {("discrete_uniform", 0), ("discrete_uniform", 1), ("beta_binomial", 2)}


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def softplus(x):
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


def times(count, log):
    """count · log, where 0 · −∞ is 0."""
    return M(0) if count == 0 else count * log


def log_choose(n, k):
    return mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)


def logs_of_probs(p):
    return (mp.log(p) if p > 0 else -mp.inf, mp.log1p(-p) if p < 1 else -mp.inf)


def logs_of_logits(l):
    return (-softplus(-l), -softplus(l))


def entropy(log_probs):
    return -sum(mp.exp(l) * l for l in log_probs if l > -mp.inf)


def log_odds(logs):
    return logs[0] - logs[1]


def integral_beta(a, b, log_density, low, centre, width):
    """The integral of exp(log_density(s)) over the log-odds s from low on, where it is concentrated around centre."""
    points = [low]
    step = centre - 40 * width
    while step < centre + 40 * width:
        if step > low:
            points.append(step)
        step += 4 * width
    if len(points) == 1:
        points.append(low + 40 * width)
    with mp.workdps(50):
        return mp.quad(lambda s: mp.exp(log_density(s)), points)


def beta_upper(a, b, s):
    """P(X > x) of a beta variable X with parameters a and b, x of log-odds s: an integral of its density over the log-odds."""
    log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    density = lambda t: -a * softplus(-t) - b * softplus(t) - log_beta
    width = mp.sqrt(1 / a + 1 / b)
    return integral_beta(a, b, density, s, mp.log(a / b), width)


def binomial_cdf(n, logs, k):
    if k < 0 or k >= n:
        return M(int(k >= n))
    if n <= 2000:
        return sum(mp.exp(log_choose(n, M(j)) + times(M(j), logs[0]) + times(n - j, logs[1])) for j in range(int(k) + 1))
    # P(K ≤ k) = P(X > p) for X with a beta distribution of k + 1 and n − k
    return beta_upper(k + 1, n - k, log_odds(logs))


def negative_binomial_cdf(r, logs, k):
    if k <= 2000:
        return sum(mp.exp(negative_binomial(r, logs, M(j))) for j in range(int(k) + 1))
    return beta_upper(k + 1, r, log_odds(logs))


def poisson_cdf(rate, k):
    if k <= 2000:
        return sum(mp.exp(times(M(j), mp.log(rate)) - rate - mp.loggamma(M(j) + 1)) for j in range(int(k) + 1))
    # P(K ≤ k) = P(X > rate) for X with a gamma distribution of k + 1; over ln X
    a = k + 1
    density = lambda t: a * t - mp.exp(t) - mp.loggamma(a)
    return integral_beta(a, None, density, mp.log(rate), mp.log(a), 1 / mp.sqrt(a))


def negative_binomial(r, logs, k):
    return mp.loggamma(k + r) - mp.loggamma(r) - mp.loggamma(k + 1) + times(k, logs[0]) + r * logs[1]


def quantile(name, parameters, cdf, k):
    """A probability in the middle of those of which k is the quantile, and as many digits before the end of the nearer tail."""
    low, high = cdf(k - 1), cdf(k)
    u = float((low + high) / 2)
    if low < u < high and min(u - low, high - u) > 1e-13 * min(u, 1 - low):
        print(f"{name},quantile,{numbers(parameters)},{u!r},{float(k)!r},0.0")


def log_sum(logits):
    largest = max(logits)
    return largest + mp.log(sum(mp.exp(l - largest) for l in logits))


# Bernoulli
for p in [0.0, 1e-300, 1e-20, 0.1, 0.5, 0.75, 1.0 - 2.0**-40, 1.0]:
    for y in [0, 1]:
        row("bernoulli_probs", "log_prob", [p], [y], lambda q: logs_of_probs(q[0])[1 - y])
    row("bernoulli_probs", "mean", [p], [], lambda q: q[0])
    row("bernoulli_probs", "variance", [p], [], lambda q: q[0] * (1 - q[0]))
    row("bernoulli_probs", "entropy", [p], [], lambda q: entropy([l for l in logs_of_probs(q[0])]) if 0 < q[0] < 1 else M(0))
for l in [-700.0, -40.0, -2.5, -1e-9, 0.0, 0.7, 35.0, 700.0]:
    for y in [0, 1]:
        row("bernoulli_logits", "log_prob", [l], [y], lambda q: logs_of_logits(q[0])[1 - y])
    row("bernoulli_logits", "mean", [l], [], lambda q: sigmoid(q[0]))
    row("bernoulli_logits", "variance", [l], [], lambda q: sigmoid(q[0]) * sigmoid(-q[0]))
    row("bernoulli_logits", "entropy", [l], [], lambda q: entropy(logs_of_logits(q[0])))

# Binomial
for kind, logs_of, cases in [
    ("probs", logs_of_probs, [(1, 0.3), (2, 0.0), (7, 1.0), (10, 0.5), (256, 1e-3), (257, 0.9), (1000, 1e-20), (10**6, 0.25), (10**9, 1e-7),
                              (10**12, 1 - 2.0**-30), (10**15, 0.3), (10**15, 1e-13)]),
    ("logits", logs_of_logits, [(1, -3.0), (20, 700.0), (20, -300.0), (256, 2.0), (300, 200.0), (500, -120.0), (10**6, -700.0), (10**6, -1.0), (10**9, 4.0),
                                (10**15, 0.1), (10**15, -30.0), (10**15, 90.0)]),
]:
    name = f"binomial_{kind}"
    for n, p in cases:
        logs = logs_of(M(p))
        mean = float(n * mp.exp(logs[0]))
        deviation = float(mp.sqrt(n * mp.exp(logs[0]) * mp.exp(logs[1])))
        ks = {0, n, 1, n - 1, round(mean), round(mean + 3 * deviation), round(mean - 3 * deviation), round(mean + 0.5 * deviation), round(mean + 30 * deviation)}
        for k in sorted(k for k in ks if 0 <= k <= n):
            # Where it is impossible the logarithm is −∞, and nothing else to tell.
            if times(M(k), logs[0]) + times(M(n - k), logs[1]) == -mp.inf:
                print(f"{name},log_prob,{numbers([n, p])},{numbers([k])},-inf,0.0")
                continue
            row(name, "log_prob", [n, p], [k], lambda q: log_choose(q[0], M(k)) + times(k, logs_of(q[1])[0]) + times(n - k, logs_of(q[1])[1]))
            if 0 < deviation and (k <= mean + 10 * deviation) and (n <= 2000 or deviation > 1):
                row(name, "cdf", [n, p], [k], lambda q: binomial_cdf(q[0], logs_of(q[1]), M(k)))
                if mean - 10 * deviation <= k < n:
                    quantile(name, [n, p], lambda j: binomial_cdf(M(n), logs, M(j)), k)
        row(name, "mean", [n, p], [], lambda q: q[0] * mp.exp(logs_of(q[1])[0]))
        row(name, "variance", [n, p], [], lambda q: q[0] * mp.exp(logs_of(q[1])[0]) * mp.exp(logs_of(q[1])[1]))
        if n <= 256 and logs[0] > -mp.inf and logs[1] > -mp.inf:
            row(name, "entropy", [n, p], [], lambda q: entropy([log_choose(q[0], M(k)) + times(k, logs_of(q[1])[0]) + times(n - k, logs_of(q[1])[1])
                                                                for k in range(n + 1)]))

# Poisson
for rate in [1e-10, 0.01, 1.0, 7.5, 123.4, 1e4, 3.3e7, 1e12, 1e15]:
    deviation = rate**0.5
    ks = {0, 1, 2, 30, round(rate), round(rate + 3 * deviation), round(rate - 3 * deviation), round(rate - 0.7 * deviation), round(rate + 30 * deviation), 10**15}
    for k in sorted(k for k in ks if k >= 0):
        row("poisson", "log_prob", [rate], [k], lambda q: times(k, mp.log(q[0])) - q[0] - mp.loggamma(M(k) + 1))
        if k <= rate + 10 * deviation and (k <= 2000 or k > rate - 10 * deviation):
            row("poisson", "cdf", [rate], [k], lambda q: poisson_cdf(q[0], M(k)))
            if k >= rate - 10 * deviation:
                quantile("poisson", [rate], lambda j: poisson_cdf(M(rate), M(j)) if j >= 0 else M(0), k)
    row("poisson", "mean", [rate], [], lambda q: q[0])
    row("poisson", "variance", [rate], [], lambda q: q[0])
for log_rate in [-700.0, -60.5, -20.0, -1.25, 0.0, 1.75, 9.25, 20.5, 30.25]:
    rate = float(mp.exp(log_rate))
    for k in sorted({0, 1, 2, 30, round(rate), round(rate + 3 * rate**0.5)}):
        if log_rate > -60 or k > 0:
            row("poisson_log_rate", "log_prob", [log_rate], [k], lambda q: k * q[0] - mp.exp(q[0]) - mp.loggamma(M(k) + 1))
    if log_rate > -60:
        row("poisson_log_rate", "mean", [log_rate], [], lambda q: mp.exp(q[0]))
        row("poisson_log_rate", "variance", [log_rate], [], lambda q: mp.exp(q[0]))
for k in [1, 2, 5]:
    quantile("poisson", [1e-3], lambda j: poisson_cdf(M(1e-3), M(j)), k)

# Negative binomial
for kind, logs_of, cases in [
    ("probs", logs_of_probs, [(1.0, 0.5), (1e-3, 0.9), (0.3, 1e-12), (12.5, 0.01), (1e6, 0.75), (1e10, 1e-9), (1e15, 0.5), (3.0, 1 - 2.0**-40)]),
    ("logits", logs_of_logits, [(1.0, 0.0), (1e-3, 5.0), (1e-3, 700.0), (2.0, -300.0), (2.0, 300.0), (12.5, -3.0), (1e6, 1.0), (1e15, -20.0), (1e3, 30.0)]),
    ("mean", None, [(3.0, 2.0), (1e-5, 10.0), (1e5, 1e-3), (40.0, 1e10), (1e6, 1e17), (1e9, 5.0), (1e14, 1e14), (0.5, 1e-4)]),
]:
    name = f"negative_binomial_{kind}"
    for a, b in cases:
        def split(q):
            """r, (ln p, ln(1 − p))"""
            if kind == "mean":
                return q[1], (mp.log(q[0]) - mp.log(q[0] + q[1]), mp.log(q[1]) - mp.log(q[0] + q[1]))
            return q[0], logs_of(q[1])

        r, logs = split([M(a), M(b)])
        mean = float(r * mp.exp(logs[0] - logs[1]))
        deviation = float(mp.sqrt(r * mp.exp(logs[0] - 2 * logs[1])))
        ks = {0, 1, 5, 950, 10**15, round(min(mean, 1e15)), round(min(mean + 3 * deviation, 1e15)), round(max(0, min(mean - 2 * deviation, 1e15)))}
        for k in sorted(ks):
            row(name, "log_prob", [a, b], [k], lambda q: negative_binomial(*split(q), M(k)))
            if k <= 2000 and k <= mean + 10 * deviation or (r > 100 and mean > 100 and abs(k - mean) < 8 * deviation and mean < 1e15):
                row(name, "cdf", [a, b], [k], lambda q: negative_binomial_cdf(*split(q), M(k)))
                if k >= mean - 8 * deviation:
                    quantile(name, [a, b], lambda j: negative_binomial_cdf(r, logs, M(j)) if j >= 0 else M(0), k)
        row(name, "mean", [a, b], [], lambda q: split(q)[0] * mp.exp(split(q)[1][0] - split(q)[1][1]))
        row(name, "variance", [a, b], [], lambda q: split(q)[0] * mp.exp(split(q)[1][0] - 2 * split(q)[1][1]))

# Geometric
for kind, logs_of, cases in [("probs", logs_of_probs, [1e-15, 1e-3, 0.5, 0.9, 1 - 2.0**-40]), ("logits", logs_of_logits, [-300.0, -9.0, 0.0, 2.5, 40.0])]:
    name = f"geometric_{kind}"
    for p in cases:
        logs = logs_of(M(p))
        for k in [0, 1, 17, 10**6, 10**15]:
            row(name, "log_prob", [p], [k], lambda q: k * logs_of(q[0])[1] + logs_of(q[0])[0])
            row(name, "cdf", [p], [k], lambda q: -mp.expm1((k + 1) * logs_of(q[0])[1]))
            quantile(name, [p], lambda j: -mp.expm1((j + 1) * logs[1]), k)
        row(name, "mean", [p], [], lambda q: mp.exp(logs_of(q[0])[1] - logs_of(q[0])[0]))
        row(name, "variance", [p], [], lambda q: mp.exp(logs_of(q[0])[1] - 2 * logs_of(q[0])[0]))
        row(name, "entropy", [p], [], lambda q: -(logs_of(q[0])[0] + mp.exp(logs_of(q[0])[1] - logs_of(q[0])[0]) * logs_of(q[0])[1]))

# Discrete uniform
for low, high in [(0, 0), (1, 6), (-3, 4), (-10**15, 10**15)]:
    count = high - low + 1
    for k in sorted({low, high, (low + high) // 2}):
        row("discrete_uniform", "log_prob", [low, high], [k], lambda q: -mp.log(count))
        row("discrete_uniform", "cdf", [low, high], [k], lambda q: M(k - low + 1) / count)
        quantile("discrete_uniform", [low, high], lambda j: M(j - low + 1) / count, k)
    row("discrete_uniform", "mean", [low, high], [], lambda q: M(low + high) / 2)
    row("discrete_uniform", "variance", [low, high], [], lambda q: (M(count)**2 - 1) / 12)
    row("discrete_uniform", "entropy", [low, high], [], lambda q: mp.log(count))


# Beta-binomial and Dirichlet-multinomial
def polya(alphas, xs):
    n, total = sum(xs), sum(alphas)
    value = mp.loggamma(n + 1) + mp.loggamma(total) - mp.loggamma(n + total)
    return value + sum(mp.loggamma(x + a) - mp.loggamma(x + 1) - mp.loggamma(a) for a, x in zip(alphas, xs))


for a, b, n in [(1.0, 1.0, 9), (0.5, 2.5, 40), (1e-6, 1e-3, 12), (1e8, 3e8, 20), (3.0, 0.2, 10**6), (1e3, 1e4, 10**12), (1e15, 1e14, 10**15), (1e-10, 5.0, 3), (40.0, 1e12, 256)]:
    mean = n * a / (a + b)
    for k in sorted({0, n, 1, round(mean), round(0.9 * mean), n // 2}):
        row("beta_binomial", "log_prob", [a, b, n], [k], lambda q: polya([q[0], q[1]], [M(k), M(n - k)]))
    row("beta_binomial", "mean", [a, b, n], [], lambda q: q[2] * q[0] / (q[0] + q[1]))
    row("beta_binomial", "variance", [a, b, n], [],
        lambda q: q[2] * q[0] * q[1] * (q[0] + q[1] + q[2]) / ((q[0] + q[1])**2 * (q[0] + q[1] + 1)))
    if n <= 256:
        logs = lambda q: [polya([q[0], q[1]], [M(k), M(n - k)]) for k in range(n + 1)]
        row("beta_binomial", "entropy", [a, b, n], [], lambda q: entropy(logs(q)))
        for k in {0, 1, n // 2, n}:
            cdf = lambda q, j: sum(mp.exp(l) for l in logs(q)[:j + 1])
            row("beta_binomial", "cdf", [a, b, n], [k], lambda q: cdf(q, k))
            quantile("beta_binomial", [a, b, n], lambda j: cdf([M(a), M(b)], j), k)
for n, alphas, xss in [(4, [1.0, 1.0, 1.0], [[1, 3, 0], [4, 0, 0]]), (9, [1e-4, 0.3, 20.0, 2.0], [[0, 0, 9, 0], [3, 2, 2, 2]]),
                       (10**15, [1e12, 2e13, 5.0], [[10**15 - 10**6, 10**6 - 3, 3], [47 * 10**12, 953 * 10**12, 0]]),
                       (1000, [1e15, 3e15], [[250, 750], [0, 1000]])]:
    total = sum(M(a) for a in alphas)
    for xs in xss:
        row("dirichlet_multinomial", "log_prob", [n] + alphas, xs, lambda q: polya(q[1:], [M(x) for x in xs]))
    for i in range(len(alphas)):
        share = lambda q: q[1 + i] / sum(q[1:])
        row("dirichlet_multinomial", f"mean {i}", [n] + alphas, [], lambda q: q[0] * share(q))
        row("dirichlet_multinomial", f"variance {i}", [n] + alphas, [],
            lambda q: q[0] * share(q) * (1 - share(q)) * (q[0] + sum(q[1:])) / (1 + sum(q[1:])))

# Multinomial
for n, probs, xss in [(2, [0.5, 0.25, 0.25], [[1, 1, 0], [2, 0, 0]]), (12, [0.0, 1e-200, 1.0], [[0, 0, 12], [0, 2, 10]]),
                      (10**15, [0.5, 0.375, 0.125], [[5 * 10**14, 375 * 10**12, 125 * 10**12], [5 * 10**14 + 10**8, 375 * 10**12 - 10**8, 125 * 10**12]])]:
    for xs in xss:
        row("multinomial_probs", "log_prob", [n] + probs, xs,
            lambda q: mp.loggamma(q[0] + 1) + sum(times(x, mp.log(p) if p > 0 else -mp.inf) - mp.loggamma(M(x) + 1) for p, x in zip(q[1:], xs)))
    for i in range(len(probs)):
        row("multinomial_probs", f"mean {i}", [n] + probs, [], lambda q: q[0] * q[1 + i])
        row("multinomial_probs", f"variance {i}", [n] + probs, [], lambda q: q[0] * q[1 + i] * (1 - q[1 + i]))
for n, logits, xss in [(5, [0.0, 1.0, -2.0], [[1, 3, 1], [0, 5, 0]]), (10, [500.0, -500.0, 0.0], [[10, 0, 0], [2, 5, 3]]),
                       (10**15, [3.0, 3.5, -1.0], [[375 * 10**12, 618 * 10**12, 7 * 10**12]])]:
    for xs in xss:
        row("multinomial_logits", "log_prob", [n] + logits, xs,
            lambda q: mp.loggamma(q[0] + 1) + sum(x * (l - log_sum(q[1:])) - mp.loggamma(M(x) + 1) for l, x in zip(q[1:], xs)))
    for i in range(len(logits)):
        row("multinomial_logits", f"mean {i}", [n] + logits, [], lambda q: q[0] * mp.exp(q[1 + i] - log_sum(q[1:])))


# Ordered logistic
def ordered_variance(q):
    with mp.workdps(800):
        probs = [mp.exp(l) for l in ordered(q)]
        mean = sum(k * p for k, p in enumerate(probs))
        return sum((k - mean)**2 * p for k, p in enumerate(probs))


def ordered(q):
    """Log probabilities of all categories, from probabilities of many digits."""
    eta, cuts = q[0], q[1:]
    with mp.workdps(800):
        below = [M(0)] + [1 / (1 + mp.exp(-(c - eta))) for c in cuts] + [M(1)]
        return [mp.log(high - low) for low, high in zip(below, below[1:])]


for parameters in [[0.0, -1.0, 1.0], [2.5, -3.0, 0.5, 0.5000001, 4.0], [300.0, -5.0, 5.0], [-300.0, 0.0, 1e-9, 30.0], [0.0, -20.0, 20.0], [1.5, 0.25]]:
    last = len(parameters) - 1
    for k in range(last + 1):
        row("ordered_logistic", "log_prob", parameters, [k], lambda q: ordered(q)[k])
        if k < last:
            row("ordered_logistic", "cdf", parameters, [k], lambda q: sigmoid(q[1 + k] - q[0]))
        quantile("ordered_logistic", parameters, lambda j: M(j + 1 > 0) * (sigmoid(M(parameters[1 + j]) - M(parameters[0])) if 0 <= j < last else M(int(j >= last))), k)
    row("ordered_logistic", "mean", parameters, [], lambda q: sum(k * mp.exp(l) for k, l in enumerate(ordered(q))))
    row("ordered_logistic", "variance", parameters, [], ordered_variance)
    row("ordered_logistic", "entropy", parameters, [], lambda q: entropy(ordered(q)))
