"""What a command prints, as an SVG picture: python3 terminal.py OUT.svg COMMAND ARGUMENTS...

Only standard output is shown, cut after 44 lines, with the first sentence of a privacy statement. Everything that the pictures of the gallery are made from is generated
by the examples themselves.
"""

import html
import subprocess
import sys

MOST, ADVANCE, LINE, MARGIN = 44, 7.85, 17, 14


def without_details(lines):
    """The lines without what follows the first sentence of a privacy statement, which is always of one kind."""
    ends = [place for place, line in enumerate(lines) if line.startswith(("  leaves out", "  assumes", "  covers"))]
    begins = [place for place, line in enumerate(lines) if line.startswith("In words: ")]
    if not (begins and ends):
        return lines
    return lines[: begins[0]] + ["  … (the rest of the statement)"] + lines[ends[-1] + 1 :]


def picture(command, text):
    lines = without_details(text.rstrip().splitlines())
    if len(lines) > MOST:
        lines = lines[:MOST] + ["…"]
    lines = ["$ " + command, ""] + lines
    width = max(72, max(len(line) for line in lines)) * ADVANCE + 2 * MARGIN
    height = len(lines) * LINE + 2 * MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'height="{height}" font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" '
        'font-size="13" fill="#1f2328"><rect width="100%" height="100%" rx="8" fill="#f6f8fa"/>'
    ]
    for place, line in enumerate(lines):
        colour = ' fill="#0072b2"' if place == 0 else ""
        y = MARGIN + (place + 0.75) * LINE
        shown = html.escape(line, quote=False)
        if line:
            length = f' textLength="{len(line) * ADVANCE:.1f}" lengthAdjust="spacingAndGlyphs"'
            out.append(f'<text x="{MARGIN}" y="{y:.1f}" xml:space="preserve"{length}{colour}>{shown}</text>')
    return "\n".join(out) + "\n</svg>\n"


if __name__ == "__main__":
    target, *command = sys.argv[1:]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # The name of the program, whatever folder it was built in.
    name = command[0].rsplit("/", 1)[-1]
    with open(target, "w", encoding="utf-8") as file:
        file.write(picture(" ".join([name, *command[1:]]), said))
