"""Compares values and per-record gradients of random programs with JAX's, in doubles.

Run: cargo run --release -p ppl-core --example random_programs 1000 > programs.jsonl; python3 differential.py programs.jsonl
Packages: requirements.txt. Programs with an operation that is not written here are counted and left out. Exit code 1 where a
value or a derivative differs by more than 1e-9 of the largest derivative of its record (or of 1).
"""
import collections
import json
import sys

import jax
import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np

jax.config.update("jax_enable_x64", True)


class Unknown(Exception):
    """An operation that is not written here."""


UNARY = {
    "Neg": lambda x: -x,
    "Abs": jnp.abs,
    "Sign": jnp.sign,
    "Square": lambda x: x * x,
    "Sqrt": jnp.sqrt,
    "Reciprocal": lambda x: 1 / x,
    "Exp": jnp.exp,
    "Expm1": jnp.expm1,
    "Log": jnp.log,
    "Log1p": jnp.log1p,
    "Log1pSquare": lambda x: jnp.log1p(x * x),
    "Log1pMinusX": lambda x: jnp.log1p(x) - x,
    "Tanh": jnp.tanh,
    "Sigmoid": jax.nn.sigmoid,
    "Softplus": jax.nn.softplus,
    "Sin": jnp.sin,
    "Cos": jnp.cos,
    "Erf": jsp.erf,
    "Erfc": jsp.erfc,
    "Erfinv": jsp.erfinv,
    "Logit": lambda x: jnp.log(x) - jnp.log1p(-x),
    "Lgamma": jsp.gammaln,
    "Digamma": jsp.digamma,
    "Trigamma": lambda x: jsp.polygamma(1, x),
    "LogNdtr": jsp.log_ndtr,
    "Ndtr": jsp.ndtr,
    "Ndtri": jsp.ndtri,
    "LogSigmoid": jax.nn.log_sigmoid,
    "LogFactorialRemainder": lambda x: jsp.gammaln(x + 1) - x * jnp.log(x) + x,
    "DigammaRemainder": lambda x: jsp.digamma(x + 1) - jnp.log(x),
    "StirlingError": lambda x: jsp.gammaln(x) - ((x - 0.5) * jnp.log(x) - x + 0.5 * jnp.log(2 * jnp.pi)),
    "BesselRatio": lambda x: jsp.i1e(x) / jsp.i0e(x),
}
BINARY = {
    "Add": jnp.add,
    "Sub": jnp.subtract,
    "Mul": jnp.multiply,
    "Div": jnp.divide,
    "Pow": jnp.power,
    "Max": jnp.maximum,
    "Min": jnp.minimum,
    "Deviance": lambda x, m: x * jnp.log(x / m) + m - x,
}


def sum_to(x, shape):
    extra = x.ndim - len(shape)
    x = x.sum(axis=tuple(range(extra)))
    axes = tuple(axis for axis, length in enumerate(shape) if length == 1 and x.shape[axis] != 1)
    return x.sum(axis=axes, keepdims=True)


def shaping(op, shape, x):
    kind = next(iter(op))
    if kind == "Broadcast":
        return jnp.broadcast_to(x, shape)
    return sum_to(x, shape) if kind == "SumTo" else x.reshape(shape)


def linear(op, a, b):
    return {"Inner": lambda: jnp.sum(a * b), "MatVec": lambda: a @ b, "VecMat": lambda: a @ b, "Outer": lambda: jnp.outer(a, b)}[op]()


def along(array, axis, places):
    return jnp.take(array, places, axis=axis)


def structure(op, args):
    kind, settings = next(iter(op.items()))
    x = args[0]
    if kind == "Permute":
        return jnp.transpose(x, settings)
    axis = settings["axis"]
    if kind == "Flip":
        return jnp.flip(x, axis)
    if kind == "Concat":
        return jnp.concatenate(args, axis)
    places = settings["start"] + settings["step"] * np.arange(settings["length"] if kind == "Slice" else x.shape[axis])
    if kind == "Slice":
        return along(x, axis, places)
    shape = list(x.shape)
    shape[axis] = settings["length"]
    index = [slice(None)] * len(shape)
    index[axis] = places
    return jnp.zeros(shape).at[tuple(index)].set(x)


def reduce(op, x):
    kind, settings = next(iter(op.items()))
    axis = settings["axis"]
    if kind == "CumulativeSum":
        return jnp.flip(jnp.cumsum(jnp.flip(x, axis), axis), axis) if settings["from_end"] else jnp.cumsum(x, axis)
    known = {
        "LogSumExp": lambda: jsp.logsumexp(x, axis=axis),
        "Softmax": lambda: jax.nn.softmax(x, axis=axis),
        "LogSoftmax": lambda: jax.nn.log_softmax(x, axis=axis),
        "Norm": lambda: jnp.sqrt(jnp.sum(x * x, axis=axis)),
        "Max": lambda: jnp.max(x, axis=axis),
    }
    if kind not in known:
        raise Unknown(f"Reduce {kind}")
    return known[kind]()


def matrix_part(op, x):
    if op == "DiagonalMatrix":
        return x[..., None] * jnp.eye(x.shape[-1])
    known = {
        "Lower": lambda: jnp.tril(x),
        "Upper": lambda: jnp.triu(x),
        "LowerHalfDiagonal": lambda: jnp.tril(x, -1) + 0.5 * x * jnp.eye(x.shape[-1]),
        "Diagonal": lambda: jnp.diagonal(x, axis1=-2, axis2=-1),
    }
    return known[op]()


def decomposition(op, args):
    matrix = args[0]
    if op == "Cholesky":
        # The lower triangle only is read.
        lower = jnp.tril(matrix)
        return jnp.linalg.cholesky(lower + jnp.swapaxes(jnp.tril(matrix, -1), -1, -2))
    if op == "Inverse":
        return jnp.linalg.inv(matrix)
    settings, right = op["SolveTriangular"], args[1]
    vector = right.ndim + 1 == matrix.ndim
    triangle = jnp.tril(matrix) if settings["lower"] else jnp.triu(matrix)
    triangle = jnp.swapaxes(triangle, -1, -2) if settings["transposed"] else triangle
    found = jnp.linalg.solve(triangle, right[..., None] if vector else right)
    return found[..., 0] if vector else found


def gather(op, args):
    table, index = args
    # An index is a constant here.
    places = jnp.asarray(index).astype(int)
    if op == "Rows":
        return table[places]
    rows = op["ScatterAdd"]["rows"]
    flat = table.reshape((places.size,) + table.shape[places.ndim :])
    return jnp.zeros((rows,) + flat.shape[1:]).at[places.reshape(-1)].add(flat)


SPECIAL = {
    "GammaP": jsp.gammainc,
    "GammaQ": jsp.gammaincc,
    # Of a beta variable's log-odds.
    "LogBetaDensity": lambda a, b, x: a * jax.nn.log_sigmoid(x) + b * jax.nn.log_sigmoid(-x) - jsp.betaln(a, b),
    "LogNdtrDifference": lambda a, b: jnp.log(jnp.where(a + b > 0, jsp.ndtr(-a) - jsp.ndtr(-b), jsp.ndtr(b) - jsp.ndtr(a))),
}


def constant_in_first(function):
    """A count has no derivative."""
    return lambda k, *rest: function(jax.lax.stop_gradient(k), *rest)


COUNTING = {
    "PoissonCdf": constant_in_first(lambda k, rate: jsp.gammaincc(k + 1, rate)),
    "BinomialCdf": constant_in_first(
        lambda k, n, logits: jnp.where(k >= n, 1.0, jsp.betainc(jnp.maximum(n - k, 1e-3), k + 1, jax.nn.sigmoid(-logits)))
    ),
    "NegativeBinomialCdf": constant_in_first(lambda k, r, logits: jsp.betainc(r, k + 1, jax.nn.sigmoid(-logits))),
}


def pooled(window, x):
    """Means over windows; pixels of the padding are zeros, and count."""
    (height, width), (down, across) = window["image"], window["size"]
    (step, aside), (above, left) = window["stride"], window["padding"]
    padded = jnp.pad(x, ((0, 0), (above, above), (left, left)))
    rows = range(0, height + 2 * above - down + 1, step)
    columns = range(0, width + 2 * left - across + 1, aside)
    return jnp.stack(
        [jnp.stack([padded[:, i : i + down, j : j + across].mean(axis=(1, 2)) for j in columns], -1) for i in rows], -2
    )


def convolved(window, x, kernel):
    (height, width), (down, across) = window["image"], window["size"]
    (step, aside), (above, left) = window["stride"], window["padding"]
    padded = jnp.pad(x, ((0, 0), (above, above), (left, left)))
    rows = range(0, height + 2 * above - down + 1, step)
    columns = range(0, width + 2 * left - across + 1, aside)
    of = lambda i, j: jnp.einsum("ocuv,cuv->o", kernel, padded[:, i : i + down, j : j + across])
    return jnp.stack([jnp.stack([of(i, j) for j in columns], -1) for i in rows], -2)


def convolution(op, shape, args):
    """A convolution, or what it is linear in, by the derivative of JAX."""
    result, window = op["result"], op["window"]
    if result == "Places":
        return convolved(window, *args)
    if result == "Image":
        kernel, places = args
        return jax.vjp(lambda x: convolved(window, x, kernel), jnp.zeros(shape))[1](places)[0]
    image, places = args
    return jax.vjp(lambda kernel: convolved(window, image, kernel), jnp.zeros(shape))[1](places)[0]


def scan(op, args):
    """A loop, step by step: all states, then all outputs, then sums, in one vector."""
    carries, inputs, _ = op["leaves"]
    state, rows, captured = list(args[:carries]), args[carries : carries + inputs], args[carries + inputs :]
    steps = op["steps"]
    order = range(steps - 1, -1, -1) if op.get("reversed") else range(steps)
    states, outputs, sums = [list(state)], [], None
    for step in order:
        values = run(op["body"], [*state, *(row[step] for row in rows), *captured])
        state = [values[k] for k in op["carried"]]
        states.append(list(state))
        outputs.append([values[k] for k in op["stacked"]])
        terms = [values[k] for k in op["summed"]]
        sums = terms if sums is None else [sum + term for sum, term in zip(sums, terms)]
    if op.get("reversed"):
        states, outputs = states[::-1], outputs[::-1]
    flat = [jnp.stack([row[k] for row in states]).reshape(-1) for k in range(carries)]
    flat += [jnp.stack([row[k] for row in outputs]).reshape(-1) for k in range(len(op["stacked"])) if outputs]
    if op["summed"]:
        if sums is None:
            raise Unknown("sums of a loop without steps")
        flat += [term.reshape(-1) for term in sums]
    return jnp.concatenate(flat) if flat else jnp.zeros(0)


def run(instructions, leaves):
    """All values of the body of a loop."""
    values = list(leaves)
    for instruction in instructions[len(leaves) :]:
        op, shape = instruction["op"], tuple(instruction["shape"])
        if isinstance(op, dict) and "Constant" in op:
            values.append(constant(op, shape))
        else:
            values.append(apply(op, shape, [values[arg] for arg in instruction.get("args", [])]))
    return values


def constant(op, shape):
    return jnp.asarray(np.array([float(text) for text in op["Constant"]["values"].split()])).reshape(shape)


def apply(op, shape, args):
    family, what = next(iter(op.items())) if isinstance(op, dict) else (op, None)
    if family == "Unary" and isinstance(what, str) and what in UNARY:
        return UNARY[what](args[0])
    if family == "Unary" and isinstance(what, dict) and "Polygamma" in what:
        return jsp.polygamma(what["Polygamma"], args[0])
    if family == "Binary" and what in BINARY:
        return BINARY[what](*args)
    if family == "Select":
        return jnp.where(args[0] != 0, args[1], args[2])
    if family == "Shaping":
        return shaping(what, shape, args[0])
    if family == "Linear":
        return linear(what, *args)
    if family == "Einsum":
        return jnp.einsum(what, *args)
    if family == "Structure":
        return structure(what, args)
    if family == "Reduce":
        return reduce(what, args[0])
    if family == "MatrixPart":
        return matrix_part(what, args[0])
    if family == "Decomposition":
        return decomposition(what, args)
    if family == "Gather":
        return gather(what, args)
    if family == "Coincidence":
        return (args[0][:, None] == args[1][None, :]).astype(float) @ args[2]
    if family == "Special" and what in SPECIAL:
        return SPECIAL[what](*args)
    if family == "Counting" and what in COUNTING:
        return COUNTING[what](*args)
    if family == "Pooling" and "Average" in what:
        return pooled(what["Average"], args[0])
    if family == "Convolution":
        return convolution(what, shape, args)
    if family == "Scan":
        return scan(what, args)
    raise Unknown(f"{family} {what if isinstance(what, str) else next(iter(what or {'': 0}))}")


def evaluate(program, inputs, columns):
    """The program's output for a record whose columns these are."""
    values = []
    for instruction in program["instructions"]:
        op, shape = instruction["op"], tuple(instruction["shape"])
        if "Input" in op:
            kind, name = next(iter(op["Input"].items()))
            value = inputs[name].reshape(shape) if kind == "Shared" else columns[name["index"]].reshape(shape)
        elif "Constant" in op:
            value = constant(op, shape)
        else:
            value = apply(op, shape, [values[arg] for arg in instruction.get("args", [])])
        if value.shape != shape:
            raise AssertionError(f"{op}: shape {value.shape}, not {shape}")
        values.append(value)
    return values[program["outputs"][0]].reshape(())


def main(path):
    print(f"JAX {jax.__version__}")
    compared, left_out, wrong, worst = 0, collections.Counter(), 0, 0.0
    for number, text in enumerate(open(path)):
        case = json.loads(text)
        inputs = {name: jnp.asarray(np.array(values, dtype=float)) for name, values in case["inputs"].items()}
        ours = np.array([float(value) for value in case["values"]])
        gradients = np.array([[float(value) for value in row] for row in case["gradients"]])
        records = len(ours)
        rows = [np.array(column, dtype=float).reshape(records, -1) for column in case["columns"]]
        try:
            # The first and the last, which is at the end of a vector of lanes.
            for record in (0, records - 1):
                columns = [jnp.asarray(column[record]) for column in rows]
                value, slopes = jax.value_and_grad(lambda inputs: evaluate(case["program"], inputs, columns))(inputs)
                theirs = np.concatenate([np.asarray(slopes[name]).reshape(-1) for name in case["order"]])
                row = gradients[record]
                if not (np.isfinite(row).all() and np.isfinite(ours[record])):
                    if np.isfinite(theirs).all() and np.isfinite(float(value)):
                        wrong += 1
                        print(f"program {number}, record {record}: not finite, and JAX's is")
                    continue
                size = max(1.0, np.abs(theirs).max(initial=0.0), abs(float(value)))
                apart = max(np.abs(row - theirs).max(initial=0.0), abs(ours[record] - float(value))) / size
                worst = max(worst, apart)
                if not apart <= 1e-9:
                    wrong += 1
                    print(f"program {number}, record {record}: {apart:.1e} apart, value {ours[record]} for {value}")
            compared += 1
        except Unknown as unknown:
            left_out[str(unknown)] += 1
    print(f"{compared} programs compared, at two records each; largest difference {worst:.1e} of a gradient")
    print(f"left out, for an operation that is not written in this script: {sum(left_out.values())} ({dict(left_out.most_common(8))})")
    print(f"{wrong} that do not meet")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
