"""Times dp_accounting and prv_accountant on the settings of examples/timing.rs: peers.py OURS.json prints a table.

Every tool and setting runs in a process of its own with a time limit; each is run once to warm up and then timed up to five times
(the best counts), or as often as the limit allows.
"""

import json
import multiprocessing
import sys
import time

LIMIT = 60.0  # seconds for one tool and setting
SETTINGS = {
    "a": (1.0, 0.01, 1000, 1e-5),
    "b": (1.5, 128 / 60000, 9380, 1 / 60000),
    "c": (0.5, 0.001, 100000, 1e-6),
}
CALIBRATION = (1.0, 1e-5, 0.01, 1000)
TRUTH = {"a": 1.828236666517, "b": 0.535707278196, "c": 14.7331884490, "d": 1.4146194065}


def dp_event(sigma, rate, steps):
    import dp_accounting as dp

    return dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(sigma)), steps)


def google(make):
    """Epsilon and calibration by one of dp_accounting's accountants."""
    import dp_accounting as dp

    def epsilon(sigma, rate, steps, delta):
        return make().compose(dp_event(sigma, rate, steps)).get_epsilon(delta)

    def calibrate(epsilon, delta, rate, steps):
        return dp.calibrate_dp_mechanism(make, lambda sigma: dp_event(sigma, rate, steps), epsilon, delta, tol=1e-5)

    return epsilon, calibrate


def google_pld():
    from dp_accounting import pld

    return google(lambda: pld.PLDAccountant(value_discretization_interval=1e-4))


def google_rdp():
    from dp_accounting import rdp

    return google(lambda: rdp.RdpAccountant())


def microsoft_prv():
    import prv_accountant as prv

    def epsilon(sigma, rate, steps, delta):
        accountant = prv.PRVAccountant(
            prvs=[prv.PoissonSubsampledGaussianMechanism(sampling_probability=rate, noise_multiplier=sigma)],
            max_self_compositions=[steps],
            eps_error=0.01,
            delta_error=delta / 1000,
        )
        return accountant.compute_epsilon(delta=delta, num_self_compositions=[steps])[2]

    def calibrate(target, delta, rate, steps):
        from scipy.optimize import brentq

        return brentq(lambda sigma: epsilon(sigma, rate, steps, delta) - target, 0.5, 4.0, xtol=1e-4)

    return epsilon, calibrate


TOOLS = {"dp_accounting PLD": google_pld, "dp_accounting RDP": google_rdp, "prv_accountant": microsoft_prv}


def work(tool, name, pipe):
    try:
        epsilon, calibrate = TOOLS[tool]()
        call = (lambda: calibrate(*CALIBRATION)) if name == "d" else (lambda: epsilon(*SETTINGS[name]))
        for repetition in range(6):
            started = time.perf_counter()
            value = float(call())
            pipe.send((repetition, time.perf_counter() - started, value))
    except Exception as error:  # reported in the table
        pipe.send((None, type(error).__name__, str(error)))
    pipe.close()


def measure(tool, name):
    ours, theirs = multiprocessing.Pipe(False)
    process = multiprocessing.Process(target=work, args=(tool, name, theirs))
    process.start()
    theirs.close()
    deadline, times, value = time.monotonic() + LIMIT, [], None
    try:
        while ours.poll(max(0.0, deadline - time.monotonic())):
            repetition, seconds, value = ours.recv()
            if repetition is None:
                return None, f"{seconds}: {value}"
            times.append(seconds)
    except EOFError:
        pass
    process.kill()
    process.join()
    # The first run warms up; it counts only where nothing else fits into the limit.
    return (min(times[1:] or times), value) if times else (None, f"more than {LIMIT:.0f} s")


def duration(seconds):
    return f"{seconds * 1000:.2f} ms" if seconds < 1 else f"{seconds:.1f} s"


def main():
    with open(sys.argv[1]) as file:
        ours = json.load(file)
    print("| setting | tool | time | times ours | answer | answer - truth |", flush=True)
    print("|---|---|---|---|---|---|", flush=True)
    for name in TRUTH:
        mine = ours[name]
        print(f"| {name} | dp-accountant | {duration(mine['seconds'])} | 1 | {mine['value']:.9f} | {mine['value'] - TRUTH[name]:+.1e} |", flush=True)
        for tool in TOOLS:
            seconds, value = measure(tool, name)
            if seconds is None:
                print(f"| {name} | {tool} | - | - | {value} | - |", flush=True)
            else:
                ratio = seconds / mine["seconds"]
                print(f"| {name} | {tool} | {duration(seconds)} | {ratio:,.0f} | {value:.9f} | {value - TRUTH[name]:+.1e} |", flush=True)


if __name__ == "__main__":
    main()
