"""The pictures of columns on a twin's page, as one: python3 columns.py twin/report.html OUT.svg"""

import re
import sys

page = open(sys.argv[1], encoding="utf-8").read()
figures = re.findall(r"<figcaption>(.*?)</figcaption><svg viewBox=\"0 0 300 130\"[^>]*>(.*?)</svg>", page, flags=re.S)
height = 160 * -(-len(figures) // 3)
out = [
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 930 {height}" font-family="system-ui,sans-serif" font-size="11" '
    'fill="#444c56"><rect width="100%" height="100%" fill="#ffffff"/>'
]
for place, (name, drawn) in enumerate(figures):
    x, y = 310 * (place % 3), 160 * (place // 3)
    out.append(f'<text x="{x + 8}" y="{y + 18}" font-size="13" font-weight="600" fill="#1b1f24">{name}</text>')
    out.append(f'<g transform="translate({x + 5} {y + 24})">{drawn}</g>')
open(sys.argv[2], "w", encoding="utf-8").write("\n".join(out) + "\n</svg>\n")
