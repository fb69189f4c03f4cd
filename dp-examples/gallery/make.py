"""Makes all pictures of the gallery again: python3 dp-examples/gallery/make.py [FOLDER OF PROGRAMS] [NAME ...]

Needs the programs and examples, built: cargo build --release -p dp-examples --bins --examples. Pictures whose names are
given are made, or all. Runs have fresh noise.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = [
    "hierarchical_logistic", "zero_inflated_poisson", "own_law_mixture", "bayesian_network", "annotators", "horseshoe",
    "ordinal", "survival", "topics", "hidden_markov", "gaussian_process", "learn_bias", "learn_p", "normal_mean",
]


def run(*command, **more):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, **more).stdout


def main():
    programs = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "target/release").resolve()
    all_names = ["fit", "twin", "quickstart", *EXAMPLES]
    wanted = sys.argv[2:] or all_names
    if unknown := set(wanted) - set(all_names):
        sys.exit(f"no picture is made by the name {', '.join(sorted(unknown))}; there are {', '.join(all_names)}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if {"fit", "twin"} & set(wanted):
            (folder / "people.csv").write_bytes(run(sys.executable, HERE / "people.py"))
        schema = ["--schema", HERE / "schema.toml", "--epsilon", "1"]
        if "fit" in wanted:
            formula = "income['high'] ~ poly(age, 2) + education + hours + sex + job"
            run(programs / "fit", formula, "people.csv", *schema, "--test-fraction", "0.2", "--private-metrics", "0.5",
                "--svg", HERE / "fit.svg", "--html", "report.html", cwd=folder)
            page = (folder / "report.html").read_text(encoding="utf-8")
            for name, picture in zip(["effects", "calibration"], re.findall(r"<svg.*?</svg>", page, flags=re.S)[1:]):
                (HERE / f"{name}.svg").write_text(picture + "\n", encoding="utf-8")
        if "twin" in wanted:
            run(programs / "twin", "fit", "people.csv", *schema, "--target", "income", "--out", "twin/", cwd=folder)
            run(sys.executable, HERE / "columns.py", folder / "twin/report.html", HERE / "twin.svg")
        if "quickstart" in wanted:
            run(programs / "dp-examples", "--svg", HERE / "quickstart.svg")
        for name in (name for name in EXAMPLES if name in wanted):
            run(sys.executable, HERE / "terminal.py", HERE / f"{name}.svg", programs / "examples" / name,
                cwd=folder)


if __name__ == "__main__":
    main()
