"""Writes log_prob.csv: log densities at 40 digits with mpmath, printed to 17 significant digits.

Run: python3 generate.py > log_prob.csv
"""
import mpmath as mp

mp.mp.dps = 40
print(f"# mpmath {mp.__version__}, 40 digits of working precision; columns: distribution, a, b, x, log_prob")
print("# (a, b) is (loc, scale) for normal, (scale, unused) for half_normal, (logit, unused) for bernoulli")


def row(name, a, b, x, value):
    print(f"{name},{a!r},{b!r},{x!r},{mp.nstr(value, 17)}")


half_log_2pi = mp.log(2 * mp.pi) / 2
for loc in [0.0, -3.25, 1e6]:
    for scale in [1e-5, 0.3, 1.0, 4.0, 1e8]:
        for z in [0.0, -0.5, 7.0, 40.0]:
            x = loc + scale * z  # a float; the density is taken at exactly this float
            t = (mp.mpf(x) - mp.mpf(loc)) / mp.mpf(scale)
            row("normal", loc, scale, x, -t * t / 2 - mp.log(mp.mpf(scale)) - half_log_2pi)
for scale in [1e-5, 0.3, 1.0, 4.0, 1e8]:
    for z in [1e-9, 0.5, 7.0, 40.0]:
        x = scale * z
        t = mp.mpf(x) / mp.mpf(scale)
        row("half_normal", scale, 0.0, x, mp.log(2 / mp.pi) / 2 - mp.log(mp.mpf(scale)) - t * t / 2)
for logit in [-700.0, -40.0, -2.5, -1e-9, 0.0, 0.7, 35.0, 700.0]:
    for y in [0.0, 1.0]:
        # -ln(1 + e^s) with s = (1 - 2y) logit, which is y*logit - ln(1 + e^logit) without the cancellation
        row("bernoulli", logit, 0.0, y, -mp.log1p(mp.exp((1 - 2 * mp.mpf(y)) * mp.mpf(logit))))
