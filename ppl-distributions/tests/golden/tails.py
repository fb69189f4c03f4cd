"""Prints the numbers of tests/tails.rs at 60 digits with mpmath.

Run: python3 tails.py
"""
import mpmath as mp
mp.mp.dps=60
def tc(n,z): n,z=mp.mpf(n),mp.mpf(z); return mp.betainc(n/2,mp.mpf(1)/2,0,n/(n+z*z),regularized=True)/2
up=lambda z: mp.erfc(mp.mpf(z)/mp.sqrt(2))/2
print('gamma_sf', mp.nstr(mp.log(mp.gammainc(2,800,mp.inf,regularized=True)),18))
print('gamma_cdf', mp.nstr(mp.log(mp.gammainc(400,0,mp.mpf(10)**-2,regularized=True)),18))
print('invgamma_cdf', mp.nstr(mp.log(mp.gammainc(mp.mpf(5)/2,mp.mpf(1000),mp.inf,regularized=True)),18))
print('beta_sf', mp.nstr(mp.log(mp.betainc(700,3,0,mp.mpf('0.125'),regularized=True)),18))
print('beta_small', mp.nstr(mp.betainc(mp.mpf('0.5'),mp.mpf(2)**-10,1-mp.mpf(2)**-70,1,regularized=True),18), mp.nstr(1-mp.betainc(mp.mpf(2)**-10,mp.mpf('0.5'),0,mp.mpf(2)**-70,regularized=True),18))
print('student', mp.nstr(mp.log(tc(5000,-50)),18))
print('half student', mp.nstr(mp.log(2*tc(5000,-50)),18))
print('negbin sf', mp.nstr(mp.log(mp.betainc(1501,mp.mpf(3),0,mp.mpf(1)/4,regularized=True)),18))
print('poisson', mp.nstr(mp.log(mp.gammainc(901,0,3,regularized=True)),18))
print('mixture', mp.nstr(mp.log(up(45)*mp.mpf('0.25')+mp.mpf('0.75')*up(mp.mpf(44)/mp.mpf('0.5'))),18))
d=lambda t: mp.npdf(t)*2*mp.ncdf(3*t)
print('skew', mp.nstr(mp.log(mp.quad(lambda v:d(-20-v),[0,*[mp.mpf(10)**-5*mp.mpf('1.07')**k for k in range(180)]])),18))
print('truncnorm', mp.nstr(mp.log((up(39)-up(40))/(up(1)-up(40))),18))
print('bern', mp.nstr(mp.exp(-mp.mpf(100))/(1+mp.exp(-mp.mpf(100))),18))
print('censored', mp.nstr(mp.log(up(45)),18))
print('lognormal via Exp', mp.nstr(mp.log(up(mp.log(mp.mpf(10)**20))),18))
print('hn', mp.nstr(mp.log(mp.erfc(mp.mpf(2)**-20/mp.sqrt(2))),18))
