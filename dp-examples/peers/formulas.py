"""Design matrices of formulas by formulaic, for the test in ../src/formula/tests.rs.

    pip install formulaic==1.2.2 pandas
    python formulas.py          # writes formulas.csv and formulas.golden beside this file

The golden file has a block for each formula: the formula as dp-examples reads it, then a line for each column of
formulaic's matrix. Splines get the public bounds, which formulaic would take from the data.
"""

import re
from pathlib import Path

import formulaic
import numpy as np
import pandas as pd

FORMULAS = """
a
a + b
b + a
0 + a
-1 + a + b
a - 1
a - 1 + 1
1 + a - 1
a + 0
a*b
a:b
a*b - a
(a + b)^2
(a + b + c)**2
(a + b + c)^3 - a:b:c
(a + b + s)^2
s
0 + s
s + t
0 + s + t
t + s - 1
s:t
0 + s:t
s*t
s*t - 1
s*t - s
s*t*r
s + t + s:r
a:s
s:a
a + a:s
s + s:a
s/a
a/s
a %in% s
(a + b)*s
(a + b)*s - a
a*b*s - a:b
0 + a:s + t
-1 + a + t:s
s:t:a
s:t:a + a
I(a^2)
a + I(a^2) + I(a^3)
I(a*b) + I((a + b)/2)
I(a - 2*b + 1)
log(a + 1) + log1p(b)
exp(c) + sqrt(b) + abs(c)
log(b):s
log10(b) + log2(b)
poly(a, 2, raw=True)
poly(c, 3, raw=True):t
s*poly(b, 2, raw=True)
bs(a, knots=[3, 7])
bs(a, knots=[5], degree=2) + b
bs(b, knots=[2, 4, 6], degree=1)
bs(a, knots=[3], include_intercept=True)
0 + bs(a, knots=[3], include_intercept=True)
bs(c, knots=[-1, 0, 2]):s
C(s) + C(t):a
`the x` + `the x`:s
a + a + b:a + a:b
""".strip().splitlines()

BOUNDS = {"a": (0, 10), "b": (1, 9), "c": (-4, 4)}


def formulaics(formula):
    """The formula in the words of formulaic: Python inside of functions, and public bounds of splines."""

    def spline(match):
        low, high = BOUNDS[match[1]]
        return f"bs({match[1]}, lower_bound={low}, upper_bound={high},"

    formula = re.sub(r"bs\((\w),", spline, formula)
    formula = re.sub(r"I\(([^()]*|\([^()]*\)[^()]*)\)", lambda match: match[0].replace("^", "**"), formula)
    formula = re.sub(r"\b(log1p|log10|log2|log|exp|sqrt|abs)\(", r"np.\1(", formula)
    return re.sub(r"poly\((\w), (\d)", r"poly(\1, degree=\2", formula)


def table():
    n = 24
    i = np.arange(n)
    return pd.DataFrame(
        {
            "y": (i * 7 % 11) / 2.0,
            "a": (i * 5 % 23) / 2.3,
            "b": 1 + (i * 11 % 17) / 2.25,
            "c": (i * 13 % 19) / 2.5 - 3.5,
            "s": [list("uvw")[k] for k in i * i % 7 % 3],
            "t": [list("pq")[k] for k in i * i * i % 11 % 2],
            "r": [list("klmn")[k] for k in i * 3 % 13 % 4],
            "the x": (i * 3 % 7) / 7.0,
        }
    )


def main():
    here, data = Path(__file__).parent, table()
    data.to_csv(here / "formulas.csv", index=False)
    data = pd.read_csv(here / "formulas.csv")
    blocks = [f"# formulaic {formulaic.__version__}, by peers/formulas.py"]
    for formula in FORMULAS:
        matrix = formulaic.model_matrix(formulaics(formula), data, context={"np": np})
        columns = [",".join(f"{float(x):.17g}" for x in matrix[name]) for name in matrix.columns]
        blocks.append("\n".join([formula, *columns]))
    (here / "formulas.golden").write_text("\n\n".join(blocks) + "\n")
    print(len(FORMULAS), "formulas")


main()
