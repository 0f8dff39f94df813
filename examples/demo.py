"""Two noisy views of handwritten digits become walks; a trajectory follows how their mass spreads.

Run with `make demo`. Needs nothing but what scikit-learn bundles.
"""

import time

import numpy as np

import mdt_fast as mdt

N_STEPS = 8
N_STARTS = 200
BAR = 30


def spread(W: mdt.Trajectory, starts: np.ndarray, digit: np.ndarray) -> tuple[float, float]:
    """Return how many samples the mass of a start reaches, and the share of it on samples of the same digit.

    Mass on m samples in equal parts has the entropy log(m); so exp(entropy) counts samples reached.
    """
    n = W.shape[0]
    unit = np.zeros((n, len(starts)))
    unit[starts, np.arange(len(starts))] = 1
    mass = W.T @ unit
    entropy = -np.sum(mass * np.log(mass, where=mass > 0, out=np.zeros_like(mass)), axis=0)
    same = (mass * (digit[:, None] == digit[starts])).sum(axis=0)
    return float(np.exp(entropy).mean()), float(same.mean())


def main() -> None:
    digits = mdt.datasets.load_multiview_digits(noise=0.5)
    views = dict(zip(digits.view_names, digits.views, strict=True))
    print(digits.DESCR, end="\n\n")

    start = time.perf_counter()
    ops = mdt.build_operators(views)
    print(f"{ops!r}, built in {time.perf_counter() - start:.3f} s")
    print(ops.check(warn=False), end="\n\n")

    starts = np.random.default_rng(0).choice(ops.n_samples, N_STARTS, replace=False)
    words = {
        ops.names[0]: [0] * N_STEPS,
        ops.names[1]: [1] * N_STEPS,
        "alternating": [0, 1] * (N_STEPS // 2),
    }
    print(f"Where the mass of a digit goes, on average over {N_STARTS} starts:")
    print(f"{'steps':>5}  {'views':<14}{'samples reached':>16}  share on the same digit")
    for t in (1, 2, 4, N_STEPS):
        for name, word in words.items():
            reached, same = spread(ops.trajectory(word[:t]), starts, digits.target)
            print(f"{t:>5}  {name:<14}{reached:>16.0f}  {same:6.1%} {'█' * round(BAR * same)}")
        print()
    W = ops.trajectory(words["alternating"])
    print(f"{W!r}")
    print(f"rows sum to 1 within {np.abs(W @ np.ones(ops.n_samples) - 1).max():.1e}; ", end="")
    print(f"the product would be {W.tosparse().nnz / ops.n_samples**2:.0%} full, so it is applied, never formed")


if __name__ == "__main__":
    main()
