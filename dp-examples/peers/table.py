"""Prints the comparison from `bench --json` and any number of `peers.py` outputs: table.py OURS PEERS..."""

import json
import sys


def read(path):
    with open(path) as file:
        return json.load(file)


def time(us):
    """A time in the unit that reads best."""
    if us is None:
        return "-"
    return f"{us:.2f} µs" if us < 100 else f"{us:,.0f} µs" if us < 1e4 else f"{us / 1000:,.1f} ms"


def main():
    ours, *peers = (read(path) for path in sys.argv[1:])
    threads = [peer["omp_num_threads"] for peer in peers]
    head = ["workload", "ours, private", "ours, plain", "private / plain", "by hand"]
    for thread in threads:
        head += [f"NumPyro, plain ({thread})", f"d3p, private ({thread})"]
    head += ["d3p / ours"]
    rows = [head]
    for name, our in ours["workloads"].items():
        private, plain = our["private_us"], our["plain_us"]
        row = [name, time(private), time(plain), f"{private / plain:.2f}", time(our.get("hand_us"))]
        theirs = [peer["workloads"].get(name, {}) for peer in peers]
        for entry in theirs:
            row += [time(entry.get("numpyro_us")), time(entry.get("d3p_us"))]
        best = min((entry["d3p_us"] for entry in theirs if "d3p_us" in entry), default=None)
        row += [f"{best / private:,.0f}×" if best else "-"]
        rows.append(row)
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for number, row in enumerate(rows):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    print("\nOurs: median. Peers: best block; in brackets OMP_NUM_THREADS. Memory and first step of the peers:")
    for name in ours["workloads"]:
        for peer in peers[-1:]:
            entry = peer["workloads"].get(name, {})
            for library in ("numpyro", "d3p"):
                if f"{library}_us" in entry:
                    peak, first = entry[f"{library}_peak_rss_mb"], entry[f"{library}_first_step_s"]
                    print(f"  {name:<13}{library:<8} {peak:>7,.0f} MB  {first:>6.1f} s")


if __name__ == "__main__":
    main()
