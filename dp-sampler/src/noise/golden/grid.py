"""Values of GridGaussianNoise that doubles leave undecided, from their random digits, with mpmath at 400 bits.

cargo test -p dp-sampler --lib print_undecided_words -- --ignored --nocapture | python3 grid.py > grid.csv
"""
import re
import sys

import mpmath as m

m.mp.prec = 400
print("value")
for line in sys.stdin:
    if not line.startswith("WORDS"):
        continue
    numbers = [int(x) for x in re.findall(r"\d+", line)]
    (a, b, c, d), more = numbers[:4], numbers[4:]
    long = lambda low, high: low | high << 32
    # u: the word, folded at the upper end, then 192 more digits.
    word, tail = long(a, b), 0
    for k in (0, 2, 4):
        tail = tail << 64 | long(more[k], more[k + 1])
    upper = word >> 63
    near = (((2**64 - 1 - word) if upper else word) * 2**192 + tail)
    f = m.mpf(near) / 2**256
    u = 1 - f if upper else f
    # v: two digits for the quarter turn, 62 for the place in it, two and 192 more behind.
    angle = long(c, d)
    place = ((angle << 2) & (2**64 - 1)) | (more[6] & 3)
    for k in (7, 9, 11):
        place = place << 64 | long(more[k], more[k + 1])
    theta = (m.mpf(place) / 2**256 - m.mpf(1) / 2) * m.pi / 2 + (angle >> 62) * m.pi / 2
    r = m.sqrt(-2 * m.log(u))
    for component in (m.cos(theta), m.sin(theta)):
        print(int(m.nint(2**32 * r * component)))
