"""Learn a congestion control for a lossy link, and compare it with Reno on seeds that the training has not seen.

The policy is linear in the observation. The cross-entropy method trains it: of each generation of policies, the best
ones give the mean and the spread of the next one. All policies of a generation run side by side in the engine's threads.

The package gymnasium is needed: pip install 'dumbbell[gym]'.
"""

import sys
import time

import numpy as np

import dumbbell
from dumbbell import Bernoulli, DropTail, Flow, Scenario, Uniform, statistics, topologies
from dumbbell.gym import FEATURES, FlowVectorEnv

QUICK = "--quick" in sys.argv
POLICIES, GENERATIONS, BEST = (16, 3, 4) if QUICK else (64, 30, 12)
DURATION_S = 20
HELD_OUT = range(1000, 1010 if QUICK else 1040)


def scenario(loss: float = 0.01, tcp: str = "sack") -> Scenario:
    """Return a flow on a link of 10 Mbit/s that loses packets at random."""
    shape = topologies.dumbbell(
        pairs=1,
        rate="10 Mbit/s",
        delay="18 ms",
        queue=DropTail(limit="34 packets"),
        impairments=[Bernoulli(probability=loss)],
    )
    start = Uniform(uniform=("0 s", "0.1 s"))
    flow = Flow(name="fg", from_="s1", to="d1", tcp=tcp, start=start)
    return shape.scenario(rules="classic", duration=f"{DURATION_S} s", flows=[flow])


def drawn(generator: np.random.Generator) -> Scenario:
    """Return a scenario of the training: losses of 0.3 to 3 %."""
    return scenario(float(f"{0.003 * 10 ** generator.uniform():.4f}"))


def episodes(
    environments: FlowVectorEnv, weights: np.ndarray, seeds: list[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Run an episode of each policy. Return mean rewards, goodputs in bit/s and mean RTTs in s, shape (n,)."""
    count = environments.num_envs
    observed, info = environments.reset(seed=seeds)
    rewards, steps, delivered, rtts = (np.zeros(count) for _ in range(4))
    runs = np.ones(count, dtype=bool)
    while runs.any():
        features = np.concatenate([observed, np.ones((count, 1))], axis=1)
        actions = np.tanh(np.einsum("nf,nf->n", features, weights))[:, None]
        observed, reward, terminated, truncated, info = environments.step(actions)
        rewards += np.where(runs, reward, 0.0)
        delivered += np.where(runs, info["delivered_bytes"], 0.0)
        rtts += np.where(runs, np.nan_to_num(info["srtt_s"]), 0.0)
        steps += runs
        runs &= ~(terminated | truncated)
    return rewards / steps, delivered * 8 / DURATION_S, rtts / steps


def trained(seed: int = 1) -> np.ndarray:
    """Return the weights of the policy that training finds."""
    generator = np.random.default_rng(seed)
    size = len(FEATURES) + 1
    mean, spread = np.zeros(size), np.ones(size)
    environments = FlowVectorEnv(drawn, num_envs=2 * POLICIES)
    for generation in range(GENERATIONS):
        policies = generator.normal(mean, spread, (POLICIES, size))
        # Each policy runs on the same two links.
        links = [2 * generation, 2 * generation + 1] * POLICIES
        rewards, *_ = episodes(environments, np.repeat(policies, 2, axis=0), links)
        scores = rewards.reshape(POLICIES, 2).mean(axis=1)
        best = policies[np.argsort(scores)[-BEST:]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.2 * 0.85**generation
        print(f"generation {generation + 1}: mean reward {scores.mean():.3f}, best {scores.max():.3f}")
    environments.close()
    return mean


begun = time.monotonic()
weights = trained()
print(f"trained in {time.monotonic() - begun:.0f} s")
for feature, weight in zip([*(feature.name for feature in FEATURES), "constant"], weights, strict=True):
    print(f"{feature:>15}: {weight:+.3f}")

for loss in (0.003, 0.01, 0.03):
    environments = FlowVectorEnv(scenario(loss), num_envs=len(HELD_OUT))
    policies = np.repeat(weights[None], len(HELD_OUT), axis=0)
    _, learned, learned_rtt = episodes(environments, policies, list(HELD_OUT))
    reno = [dumbbell.Job(scenario(loss), seed=seed) for seed in HELD_OUT]
    goodput = dumbbell.run_many(reno, progress=False).flows
    print(f"loss {loss:.1%}, {len(HELD_OUT)} runs, means with 90 % intervals:")
    print(
        f"  learned: {statistics.mean_interval(learned / 1e6):.2f} Mbit/s, RTT {1e3 * learned_rtt.mean():.0f} ms"
    )
    rtt = 1e3 * goodput["rtt_mean_s"].mean()
    print(f"  Reno:    {statistics.mean_interval(goodput['goodput_bps'] / 1e6):.2f} Mbit/s, RTT {rtt:.0f} ms")
