"""Environments of Gymnasium: the checker, seeds, steps, ends, and agreement with runs."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import dumbbell
from conftest import ROOT
from dumbbell import Bernoulli, DropTail, Flow, ScenarioError, ScenarioWarning, Transfer, Uniform, topologies
from dumbbell.gym import FEATURES, FlowEnv, FlowVectorEnv, Intervals, PowerReward, observation
from dumbbell.gym.intervals import COLUMNS

TCP = dumbbell.Tcp(initial_window="10 segments")


def lossy(duration="5 s", loss=0.01, rate="10 Mbit/s", limit="34 packets", **flow):
    shape = topologies.dumbbell(
        pairs=1,
        rate=rate,
        delay="20 ms",
        queue=DropTail(limit=limit),
        impairments=[Bernoulli(probability=loss)] if loss else None,
    )
    start = Uniform(uniform=("0 s", "0.2 s"))
    fg = Flow(name="fg", from_="s1", to="d1", **{"tcp": TCP, "start": start, **flow})
    return shape.scenario(rules="classic", duration=duration, flows=[fg])


@pytest.mark.parametrize("settings", [{}, {"interval": "ack"}, {"interval": "20 ms", "action": "rate"}])
def test_the_checker_of_gymnasium_accepts_the_environment(settings):
    environment = gymnasium.make("dumbbell/Flow-v0", scenario=lossy(), **settings)
    check_env(environment.unwrapped)


def episode(environment, seed, steps=40):
    """Return all that an environment returns for the same actions."""
    observed, info = environment.reset(seed=seed)
    rows = [(observed.tolist(), info)]
    for step in range(steps):
        observed, reward, terminated, truncated, info = environment.step([np.sin(step)])
        rows.append((observed.tolist(), reward, terminated, truncated, info))
    return rows


def test_a_seed_gives_the_same_bits_and_another_one_others():
    environment = FlowEnv(lossy())
    first = episode(environment, 3)
    assert episode(environment, 3) == first
    assert episode(FlowEnv(lossy()), 3) == first
    assert episode(environment, 4) != first


def test_further_episodes_follow_from_the_seed():
    def second():
        environment = FlowEnv(lossy())
        environment.reset(seed=3)
        return environment.reset()[1]

    assert second() == second()
    assert second() != FlowEnv(lossy()).reset(seed=3)[1]


@pytest.mark.parametrize("threads", [1, 3])
def test_each_place_of_a_vector_is_a_single_environment(threads):
    environments = FlowVectorEnv(lossy("2 s"), num_envs=5, threads=threads)
    observed, _ = environments.reset(seed=10)
    rows = [[(observed[place].tolist(), None)] for place in range(5)]
    for step in range(60):
        observed, rewards, terminated, truncated, _ = environments.step(np.full((5, 1), np.sin(step)))
        for place in range(5):
            rows[place].append((observed[place].tolist(), rewards[place]))
    for place in range(5):
        single = FlowEnv(lossy("2 s"))
        expected = [(single.reset(seed=10 + place)[0].tolist(), None)]
        over = False
        for step in range(60):
            if over:
                expected.append((single.reset()[0].tolist(), 0.0))
                over = False
                continue
            observed_here, reward, terminated, truncated, _ = single.step([np.sin(step)])
            expected.append((observed_here.tolist(), reward))
            over = terminated or truncated
        assert rows[place] == expected


def test_an_ended_episode_is_begun_again_in_the_next_step():
    environments = FlowVectorEnv(lossy("1 s"), num_envs=3)
    environments.reset(seed=1)
    ends = np.zeros(3, dtype=int)
    before = np.zeros(3, dtype=bool)
    for _ in range(100):
        _, rewards, terminated, truncated, info = environments.step(np.zeros((3, 1)))
        assert not terminated.any()
        assert (rewards[before] == 0).all()
        assert (info["time_s"][before] < 0.5).all()
        assert (info["time_s"][truncated] == 1.0).all()
        before = truncated
        ends += truncated
    assert (ends >= 2).all()


def test_the_end_of_the_transfer_terminates_and_the_end_of_the_scenario_truncates():
    environment = FlowEnv(lossy("30 s", loss=0, source=Transfer(size="200 kB")))
    environment.reset(seed=1)
    ended = [environment.step([0.0])[2:4] for _ in range(3)]
    while not any(ended[-1]):
        ended.append(environment.step([0.0])[2:4])
    assert set(ended[:-1]) == {(False, False)}
    assert ended[-1] == (True, False)
    with pytest.raises(ScenarioError, match="reset"):
        environment.step([0.0])


def test_a_window_carries_its_own_size_per_round_trip():
    # Without a queue, a window of 10 segments of 1460 bytes per RTT: 40 ms of propagation, besides the transmission.
    environment = FlowEnv(lossy(loss=0, rate="100 Mbit/s"), interval="1 s")
    environment.reset(seed=1)
    info = environment.step([0.0])[4]
    assert info["cwnd_bytes"] == 10 * info["mss_bytes"]
    rounds = 1.0 / info["rtt_s"]
    assert info["delivered_bytes"] == pytest.approx(rounds * info["cwnd_bytes"], rel=0.05)
    assert info["min_rtt_s"] == pytest.approx(0.040, rel=0.05)
    assert info["lost_bytes"] == 0


def test_an_action_multiplies_the_window_by_a_power_of_the_factor():
    environment = FlowEnv(lossy(loss=0), factor=4.0)
    cwnd = environment.reset(seed=1)[1]["cwnd_bytes"]
    up = environment.step([0.5])[4]["cwnd_bytes"]
    assert up == 2 * cwnd
    # Beyond the range, the bound counts.
    assert environment.step([-3.0])[4]["cwnd_bytes"] == up / 4
    for _ in range(5):
        down = environment.step([-1.0])[4]
    assert down["cwnd_bytes"] == 2 * down["mss_bytes"]


def test_a_rate_paces_the_flow():
    environment = FlowEnv(lossy(loss=0), action="rate", interval="100 ms")
    environment.reset(seed=1)
    info = environment.step([0.0])[4]
    for _ in range(5):
        info = environment.step([0.0])[4]
    assert info["delivered_bytes"] / info["duration_s"] == pytest.approx(info["pacing_rate"], rel=0.1)
    assert info["rtt_s"] == pytest.approx(info["min_rtt_s"])
    # The initial 10 segments per round trip of 42 ms, times 2 ** 2.4, are 1.84 MB/s: more than the 1.25 MB/s of the link.
    for _ in range(8):
        info = environment.step([0.3])[4]
    assert info["pacing_rate"] > 10e6 / 8
    assert info["lost_bytes"] == 0
    # At most 34 packets of 1500 bytes wait 1.2 ms each.
    assert 1.3 * info["min_rtt_s"] < info["rtt_s"] < info["min_rtt_s"] + 34 * 0.0012
    # The queue is full: losses follow, and without timestamps a flow that recovers has no samples of the round trip.
    for _ in range(2):
        info = environment.step([0.3])[4]
    assert info["lost_bytes"] > 0
    assert info["rtt_s"] is None


def test_steps_per_acknowledgement_miss_none():
    environment = FlowEnv(lossy(loss=0), interval="ack")
    delivered = environment.reset(seed=1)[1]["delivered_bytes"]
    acks = 0
    for _ in range(200):
        info = environment.step([0.0])[4]
        acks += info["acks"]
        delivered += info["delivered_bytes"]
        assert info["acks"] >= 1
    assert delivered == pytest.approx((acks + 1) * info["mss_bytes"])


def test_too_large_a_window_is_seen_as_losses():
    environment = FlowEnv(lossy(loss=0))
    environment.reset(seed=1)
    worst = max((environment.step([1.0]) for _ in range(8)), key=lambda step: step[0][3])
    names = [feature.name for feature in FEATURES]
    assert worst[0][names.index("loss_rate")] > 0.2
    assert worst[4]["lost_bytes"] > 0


def intervals(capacity=1e6, **columns):
    values = np.zeros((1, len(COLUMNS)))
    for name, value in columns.items():
        values[0, COLUMNS[name]] = value
    return Intervals(values, np.array([capacity]))


def test_observations_and_rewards_follow_from_the_columns():
    # 50 kB delivered in 0.1 s are 500 kB/s; 12.5 kB of 62.5 kB are lost; the RTT is 1.5 times the smallest.
    seen = intervals(
        duration_s=0.1,
        delivered_bytes=50_000,
        lost_bytes=12_500,
        sent_bytes=75_000,
        rtt_s=0.06,
        min_rtt_s=0.04,
        srtt_s=0.05,
        rtt_gradient=0.25,
        cwnd_bytes=25_000,
        max_delivery_rate=1e6,
    )
    expected = [1.5, 0.25, 1.5, 0.2, 0.5, 2.0, 25_000 / 40_000]
    assert observation(seen)[0].tolist() == pytest.approx(expected)
    # (0.5 - 0.125) / 1.5 with losses, 0.5 / 1.5 without, and 0.5 with an RTT of 1.2 times the smallest.
    assert PowerReward()(seen)[0] == pytest.approx(0.25)
    assert PowerReward(loss_weight=0.0)(seen)[0] == pytest.approx(1 / 3)
    seen.values[0, COLUMNS["rtt_s"]] = 0.048
    assert PowerReward(loss_weight=0.0)(seen)[0] == pytest.approx(0.5)


def test_an_interval_without_anything_is_within_the_space():
    nan = float("nan")
    empty = intervals(duration_s=0.1, rtt_s=nan, min_rtt_s=nan, srtt_s=nan, cwnd_bytes=nan, mss_bytes=nan)
    assert FlowEnv(lossy()).observation_space.contains(observation(empty)[0])
    assert PowerReward()(empty)[0] == 0.0


def test_a_reward_of_ones_own_and_scenarios_drawn_per_episode():
    losses = []

    def drawn(generator):
        losses.append(round(generator.uniform(0.0, 0.05), 3))
        return lossy(loss=losses[-1])

    environment = FlowEnv(drawn, reward=lambda at: at.delivery_rate / 1e6, capacity="20 Mbit/s")
    losses.clear()
    environment.reset(seed=5)
    first = losses.copy()
    environment.reset(seed=5)
    assert losses == 2 * first
    reward, info = environment.step([0.0])[1::3]
    assert reward == pytest.approx(info["delivered_bytes"] / info["duration_s"] / 1e6)
    wrong = FlowEnv(lossy(), reward=lambda _: 1.0)
    wrong.reset(seed=1)
    with pytest.raises(ScenarioError, match="reward"):
        wrong.step([0.0])


class Raises(dumbbell.Control):
    """A control that fails."""

    def on_ack(self, _ack):
        raise ArithmeticError("nothing works")

    def on_congestion(self, congestion):
        pass


def test_an_exception_of_another_flow_arrives():
    shape = topologies.dumbbell(pairs=2, rate="10 Mbit/s", delay="20 ms")
    flows = [
        Flow(name="fg", from_="s1", to="d1", tcp="reno"),
        Flow(name="bg", from_="s2", to="d2", tcp=Raises(), start="0.8 s"),
    ]
    environments = FlowVectorEnv(
        shape.scenario(rules="classic", duration="5 s", flows=flows), num_envs=2, flow="fg", interval="0.5 s"
    )
    environments.reset(seed=1)
    # The other flow has its first acknowledgement 42 ms after its start: within the first step, from 0.54 s to 1.04 s.
    with pytest.raises(ArithmeticError, match="nothing works"):
        environments.step(np.zeros((2, 1)))


def test_the_recovery_of_the_flow_is_kept():
    tcp = dumbbell.Tcp(variant="reno", recovery="newreno", mss="1000 bytes")
    info = FlowEnv(lossy(tcp=tcp)).reset(seed=1)[1]
    assert info["mss_bytes"] == 1000


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"flow": "fgg"}, "flow: .*fgg.*did you mean `fg`"),
        ({"interval": "2 rtts"}, "interval: .*2 rtts"),
        ({"interval": "0 s"}, "interval: .*0 s"),
        ({"interval": "0 rtt"}, "interval: .*0 rtt"),
        ({"interval": 3}, "interval: 3"),
        ({"action": "windows"}, "action: .*did you mean `window`"),
        ({"factor": 1.0}, "factor: 1.0"),
        ({"factor": "2"}, "factor: "),
        ({"capacity": "10"}, "capacity: "),
        ({"reward": 3}, "reward: 3"),
    ],
)
def test_a_bad_parameter_is_refused(settings, match):
    with pytest.raises(ScenarioError, match=match):
        FlowEnv(lossy(), **settings)


@pytest.mark.parametrize("action", [[float("nan")], [0.0, 0.0], []])
def test_a_bad_action_is_refused(action):
    environment = FlowEnv(lossy())
    with pytest.raises(ScenarioError, match="step: no episode runs"):
        environment.step([0.0])
    environment.reset(seed=1)
    with pytest.raises(ScenarioError, match="action"):
        environment.step(action)
    with pytest.raises(ScenarioError, match=r"options: .*mask"):
        environment.reset(options={"mask": 1})


def test_the_scenario_of_an_agent_is_refused_elsewhere():
    from dumbbell.gym.episodes import _steered

    data = lossy().to_dict()
    data["flows"] = [_steered(flow) for flow in data["flows"]]
    with pytest.raises(ScenarioError, match="external"):
        dumbbell.run(data)


def test_probes_have_no_effect_and_say_so():
    data = lossy().to_dict() | {"probes": [{"flows": ["*"], "quantities": ["cwnd"]}]}
    with pytest.warns(ScenarioWarning, match="probes"):
        FlowEnv(dumbbell.Scenario.from_dict(data))


def test_without_gymnasium_the_error_says_how_to_get_it():
    code = "import sys; sys.modules['gymnasium'] = None; import dumbbell.gym"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'dumbbell[gym]'" in done.stderr.splitlines()[-1]


def test_the_page_lists_the_components_of_observations():
    page = (ROOT / "docs" / "gymnasium.md").read_text("utf-8")
    for index, feature in enumerate(FEATURES):
        assert f"| {index} | `{feature.name}` | {feature.low:g} to {feature.high:g} |" in page
