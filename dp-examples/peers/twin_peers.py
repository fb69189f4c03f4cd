"""Runs other people's programs for synthetic tables on the rows that `twin` is given, so that `twin_scores.py` can score
what they draw. One method at a time, each in a virtual environment of its own (README.md has the versions):

    python twin_peers.py METHOD SCHEMA TRAINING-ROWS OUT.csv [--epsilon 1] [--delta 1e-5] [options]

Methods: aim, mst and privbayes (dpmm), twinify and twinify-bins (twinify, a mixture that d3p fits). Each gets the
schema's bounds and categories as public knowledge and is otherwise left at its defaults; what is spent on bins of numbers
is part of epsilon. Prints processor seconds and peak memory of this process and its children.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import tomllib

import numpy as np
import pandas as pd


def schema_of(path):
    with open(path, "rb") as file:
        return tomllib.load(file)


def rows_of(path, schema):
    """Numbers within their bounds, categories as text; a missing number is none, a missing category is one of its own."""
    table = pd.read_csv(path, keep_default_na=False, dtype=str)[list(schema)]
    for column, bound in schema.items():
        if not isinstance(bound[0], str):
            table[column] = pd.to_numeric(table[column], errors="coerce").clip(bound[0], bound[1])
    return table


def dpmm(pipeline, schema, table, options):
    """A pipeline of dpmm. Its bins of numbers are chosen privately and cost PROCESSING, which the model does without."""
    processing = 0.1 * options.epsilon
    domain = {}
    for column, bound in schema.items():
        if isinstance(bound[0], str):
            table[column] = table[column].astype("category")
            domain[column] = {"categories": bound}
        else:
            domain[column] = {"lower": bound[0], "upper": bound[1]}
    more = {} if options.model_size is None else {"max_model_size": options.model_size}
    if options.rounds is not None:
        more["gen_kwargs"] = {"rounds": options.rounds}
    model = pipeline(
        epsilon=options.epsilon - processing, delta=options.delta, proc_epsilon=processing, **more
    )
    model.fit(table, domain)
    return model.generate(n_records=len(table))


def aim(schema, table, options):
    from dpmm.pipelines import AIMPipeline

    return dpmm(AIMPipeline, schema, table, options)


def mst(schema, table, options):
    from dpmm.pipelines import MSTPipeline

    return dpmm(MSTPipeline, schema, table, options)


def privbayes(schema, table, options):
    from dpmm.pipelines import PrivBayesPipeline

    return dpmm(PrivBayesPipeline, schema, table, options)


def twinify(schema, table, options, bins=None):
    """twinify's automatic model, a mixture with independent columns in each component, by its command line. Numbers are
    mapped from their bounds to [-1, 1], without which its priors do not fit them, and are normal; or with BINS
    categories of equal widths, drawn uniformly within."""
    shape, coded = [], table.copy()
    for column, bound in schema.items():
        shape.append(f"{column}: {'Categorical' if isinstance(bound[0], str) or bins else 'Normal'}\n")
        if not isinstance(bound[0], str):
            share = (table[column] - bound[0]) / (bound[1] - bound[0])
            coded[column] = (share * bins).clip(0, bins - 1).astype(int) if bins else 2 * share - 1
    with tempfile.TemporaryDirectory() as folder:
        rows, model, out = (os.path.join(folder, name) for name in ("rows.csv", "model.txt", "twin"))
        coded.to_csv(rows, index=False)
        with open(model, "w") as file:
            file.writelines(shape)
        budget = ["--epsilon", str(options.epsilon), "--delta", str(options.delta)]
        more = ["--k", str(options.classes)] if options.classes is not None else []
        more += ["--num_epochs", str(options.epochs)] if options.epochs is not None else []
        subprocess.run([sys.executable, "-m", "twinify.cli", "vi", rows, model, out, *budget, *more], check=True)
        twin = pd.read_csv(out + ".csv", keep_default_na=False)
    for column, bound in schema.items():
        if not isinstance(bound[0], str):
            low, width = bound[0], bound[1] - bound[0]
            within = (twin[column] + np.random.rand(len(twin))) / bins if bins else (twin[column] + 1) / 2
            twin[column] = (low + width * within).round().clip(*bound).astype(int)
    return twin


def twinify_bins(schema, table, options):
    return twinify(schema, table, options, bins=16)


METHODS = {"aim": aim, "mst": mst, "privbayes": privbayes, "twinify": twinify, "twinify-bins": twinify_bins}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("schema")
    parser.add_argument("rows")
    parser.add_argument("out")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--model-size", type=float, help="dpmm: megabytes that a model may have")
    parser.add_argument("--rounds", type=int, help="aim: how many rounds its budget is planned for")
    parser.add_argument("--classes", type=int, help="twinify: components of the mixture")
    parser.add_argument("--epochs", type=int, help="twinify: how often the records are gone through")
    options = parser.parse_args()
    schema = schema_of(options.schema)
    began = time.time()
    twin = METHODS[options.method](schema, rows_of(options.rows, schema), options)
    twin[list(schema)].to_csv(options.out, index=False)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(one.ru_utime + one.ru_stime for one in used)
    peak = max(one.ru_maxrss for one in used) / 1024
    print(f"{options.method}: {seconds:.0f} s of processor, {time.time() - began:.0f} s, {peak:.0f} MB", file=sys.stderr)


if __name__ == "__main__":
    main()
