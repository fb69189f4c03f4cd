"""Prints the numbers of tests/right_everywhere.rs, with 60 digits of working precision.

Run: python3 -P faults.py
"""
import mpmath as mp

mp.mp.dps = 60


def tell(what, value):
    print(f"{what}: {mp.nstr(mp.mpf(value), 20)}")


phi_above = lambda z: mp.erfc(z / mp.sqrt(2)) / 2
normal = lambda x: -x * x / 2 - mp.log(2 * mp.pi) / 2
poisson = [mp.exp(-3) * mp.mpf(3) ** k / mp.factorial(k) for k in range(6)]
for k in range(2, 6):
    tell(f"Poisson(3) between 2 and 5, ln p({k})", mp.log(poisson[k] / sum(poisson[2:])))
poisson = lambda r, k: k * mp.log(r) - r - mp.loggamma(k + 1)
tell("Poisson(3) between 60 and 80, ln p(61)", poisson(3, 61) - mp.log(mp.fsum(mp.exp(poisson(3, k)) for k in range(60, 81))))
tell("Exponential(1) between -1 and 2, quantile of 0.1", -mp.log(1 - (1 - mp.exp(-2)) / 10))
tell("HalfNormal(1) between -1 and 2, quantile of 0.1", mp.erfinv(mp.erf(mp.sqrt(2)) / 10) * mp.sqrt(2))
circle = lambda a, b: mp.quad(lambda t: mp.exp(mp.cos(t - 2)), mp.linspace(a, b, 9)) / (2 * mp.pi * mp.besseli(0, 1))
tell("VonMises(2, 1), P(X <= 0)", circle(-mp.pi, 0))
tell("VonMises(2, 1), P(X <= -3)", circle(-mp.pi, -3))
tell("Normal(0, 1) above 9, ln p(9.125)", normal(mp.mpf("9.125")) - mp.log(phi_above(9)))
tell("Normal(0, 1) above 30, ln p(30.03125)", normal(mp.mpf("30.03125")) - mp.log(phi_above(30)))
tell("Normal(0, 1) between 6 and 7, ln p(6.25)", normal(mp.mpf("6.25")) - mp.log(phi_above(6) - phi_above(7)))
truncated = lambda a, r: (a - 1) * mp.log(mp.mpf("0.5")) - r / 2 + a * mp.log(r) - mp.log(mp.gammainc(a, 0, 2 * r))
tell("Gamma(1.5, 2) between 0 and 2, derivative of ln p(0.5) in the concentration", mp.diff(lambda a: truncated(a, mp.mpf(2)), mp.mpf("1.5")))
tell("Gamma(1.5, 2) between 0 and 2, derivative of ln p(0.5) in the rate", mp.diff(lambda r: truncated(mp.mpf("1.5"), r), mp.mpf(2)))
far = lambda m: mp.log(mp.quad(lambda v: mp.exp(-(10**8 - m) * v - v * v / 2), [0, 10**-8, 10**-7, 10**-6]))
tell("TruncatedNormal(0, 1) above 10^8, ln p at a distance of 2^-26", -mp.mpf(2) ** -26 * (10**8 + mp.mpf(2) ** -27) - far(0))
with mp.workdps(90):
    tell("the same, derivative in the mean", mp.mpf(2) ** -26 - mp.diff(far, 0, h=mp.mpf(10) ** -20))
beta = lambda a, b, x: (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - mp.loggamma(a) - mp.loggamma(b) + mp.loggamma(a + b)
with mp.workdps(120):
    tell("Beta(2, 1e17), ln p(1e-17)", beta(2, mp.mpf(10) ** 17, mp.mpf(1e-17)))
    tell("Beta(2, 1e8), ln p(2^-26)", beta(2, mp.mpf(10) ** 8, mp.mpf(2) ** -26))
tell("Cauchy(0, 1), ln p(1e200)", -mp.log(mp.pi) - 400 * mp.log(10))
student = lambda n: mp.loggamma((n + 1) / 2) - mp.loggamma(n / 2) - mp.log(n * mp.pi) / 2
tell("StudentT(3, 0, 1), ln p(1e200)", student(mp.mpf(3)) - 2 * (400 * mp.log(10) - mp.log(3)))
tell("StudentT(3, 0, 1), ln p(1e25)", student(mp.mpf(3)) - 2 * mp.log1p(mp.mpf(10) ** 50 / 3))
tell("Kumaraswamy(1e-20, 1.5), the mean", mp.mpf("1.5") * mp.beta(1 + mp.mpf(10) ** 20, mp.mpf("1.5")))
p = 1 / (1 + mp.exp(-3))
tell("KL of Bernoulli at log-odds 3 and -800", p * (mp.log(p) + mp.log1p(mp.exp(800))) + (1 - p) * (mp.log(1 - p) + mp.log1p(mp.exp(-800))))
with mp.workdps(90):
    w = mp.matrix([[10**8, 10**8], [10**8, 10**8 + 1], [0, 1]])
    covariance, x = w * w.T + mp.eye(3), mp.matrix([1, 2, 3])
    tell("LowRank with parallel columns of 10^8, ln p(1, 2, 3)", -(x.T * (covariance**-1) * x)[0] / 2 - mp.log(mp.det(covariance)) / 2 - 3 * mp.log(2 * mp.pi) / 2)
