"""Writes dp_accounting's event trees as JSON, one file each, beside this program.

    pip install dp-accounting==0.6.0
    python generate.py            # writes *.json
    python generate.py FILE...    # reads JSON of the same form and prints the events that dp_accounting makes of it

dp_accounting gives events as nested named tuples (`DpEvent.to_named_tuple`); the JSON form is these as objects, which keeps
`module_name`, `class_name` and every field. `from_json` is the way back through `DpEvent.from_named_tuple`.
"""

import collections
import json
import os
import sys

import dp_accounting as dp

HERE = os.path.dirname(os.path.abspath(__file__))


def plain(value):
    """Nested named tuples as nested dictionaries."""
    if hasattr(value, "_asdict"):
        return {key: plain(item) for key, item in value._asdict().items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def to_json(event):
    return json.dumps(plain(event.to_named_tuple()), indent=1)


def named(value):
    """Nested dictionaries as nested named tuples."""
    if isinstance(value, dict):
        kind = collections.namedtuple("Wrapper", value.keys())
        return kind(**{key: named(item) for key, item in value.items()})
    if isinstance(value, list):
        return [named(item) for item in value]
    return value


def from_json(text):
    return dp.DpEvent.from_named_tuple(named(json.loads(text)))


TREES = {
    "training": dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 1000),
    "mixed": dp.ComposedDpEvent([
        dp.NoOpDpEvent(),
        dp.GaussianDpEvent(12.5),
        dp.LaplaceDpEvent(3.0),
        dp.SelfComposedDpEvent(
            dp.ComposedDpEvent([
                dp.SampledWithoutReplacementDpEvent(60000, 128, dp.GaussianDpEvent(1.5)),
                dp.SampledWithReplacementDpEvent(60000, 64, dp.GaussianDpEvent(2.5)),
            ]),
            7,
        ),
        dp.RandomizedResponseDpEvent(0.25, 4),
    ]),
    "one_sample": dp.PoissonSampledDpEvent(
        0.02, dp.ComposedDpEvent([dp.GaussianDpEvent(3.0), dp.SelfComposedDpEvent(dp.GaussianDpEvent(4.0), 2)])
    ),
    "non_private": dp.ComposedDpEvent([dp.GaussianDpEvent(1.0), dp.NonPrivateDpEvent()]),
    "tree": dp.SelfComposedDpEvent(dp.SingleEpochTreeAggregationDpEvent(5.0, [8, 4]), 3),
    "zero_concentrated": dp.ZCDpEvent(0.1),
}

if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(from_json(open(path).read()))
    if not sys.argv[1:]:
        for name, tree in TREES.items():
            assert from_json(to_json(tree)) == tree
            with open(os.path.join(HERE, name + ".json"), "w") as file:
                file.write(to_json(tree) + "\n")
