"""Campaigns on a Dask cluster: the same bits as on this machine, whatever becomes of the workers."""

import errno
import gc
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import dask
import pandas as pd
import pytest
from distributed import Client, LocalCluster, SchedulerPlugin, Security
from distributed.utils import get_mp_context

from dumbbell import (
    Campaign,
    Control,
    ControlError,
    Flow,
    ScenarioError,
    Uniform,
    campaign,
    papers,
    topologies,
)
from dumbbell.campaign import Store, cluster
from dumbbell.errors import ResultsError
from small_paper import SMALL, forget_papers, write_paper

QUEUE = "links.r1-r2.queue.limit"

# The scheduler and the client say what they think of killed workers.
pytestmark = pytest.mark.filterwarnings("ignore")


class Small(Control):
    """A window below a segment."""

    def on_ack(self, ack):  # noqa: ARG002 - the signature of Control
        self.cwnd = 1.0

    def on_congestion(self, congestion):
        pass


def goodput(runs):
    return runs.flows.groupby("job")[["goodput_bps"]].mean()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """An authority, and a certificate of it, made as docs/campaigns.md describes."""
    if shutil.which("openssl") is None:
        pytest.skip("SKIPPED: certificates need the command openssl")
    folder = tmp_path_factory.mktemp("certificates")
    text = (Path(__file__).resolve().parents[2] / "docs" / "campaigns.md").read_text("utf-8")
    commands = [line for line in text.splitlines() if line.startswith("openssl ")]
    assert len(commands) == 3
    for command in commands:
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True, timeout=100)
    names = {"tls_ca_file": "authority.pem"}
    for role in ("client", "scheduler", "worker"):
        names |= {f"tls_{role}_cert": "cluster.pem", f"tls_{role}_key": "cluster.key"}
    return {name: str(folder / file) for name, file in names.items()}


def failing(runs):
    if any(job.run == 3 for job in runs.jobs):
        raise ZeroDivisionError("nothing to divide")
    return goodput(runs)


def deadly(runs):
    if any(job.run == 3 for job in runs.jobs):
        os.kill(os.getpid(), signal.SIGKILL)
    return goodput(runs)


def scenario(duration):
    flow = Flow(name="fg", from_="s1", to="d1", tcp="reno", start=Uniform(uniform=("0 s", "1 s")))
    shape = topologies.dumbbell(pairs=1, rate="1.6 Mbit/s", delay="10 ms")
    return shape.scenario(rules="classic", duration=duration, flows=[flow])


def wanted(store, *, duration="2 s", runs=20, **options):
    return Campaign(
        scenario(duration), {QUEUE: ["5 packets", "10 packets"]}, runs=runs, store=store, **options
    )


def content(folder):
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(Path(folder).rglob("*"))
        if file.is_file()
    }


@pytest.fixture(scope="module", autouse=True)
def quick_starts():
    """Let workers start as forks of one process that has imported what they need, also after their deaths."""
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(["distributed", "dumbbell.campaign.cluster"])
        yield


@contextmanager
def two_workers():
    """Two workers on this machine; a batch whose worker dies comes back."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL"
        ) as local,
        Client(local) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def client():
    """The workers of all tests that leave them alive."""
    with two_workers() as found:
        yield found


@pytest.mark.parametrize("reduce", [None, goodput])
def test_a_cluster_gives_the_same_bits(client, tmp_path, reduce):
    wanted(tmp_path / "here", reduce=reduce).run(progress=False)
    there = wanted(tmp_path / "there", reduce=reduce).run(client, progress=False)
    assert (there.made, there.warnings) == (40, [])
    assert content(tmp_path / "here") == content(tmp_path / "there")
    assert there.run(client.scheduler.address, progress=False).made == 0


def test_runs_that_could_not_be_stored_at_first_are_stored_at_the_end(client, tmp_path, monkeypatch):
    """As on a disk that was full for a moment."""
    real, refused = Store.add, []

    def add(store, runs):
        if not refused:
            refused.append(len(runs))
            raise ResultsError(errno.ENOSPC, "could not be written", str(store.place))
        real(store, runs)

    monkeypatch.setattr(Store, "add", add)
    there = wanted(tmp_path)
    with pytest.raises(ResultsError, match="could not be written"):
        there.run(client, progress=False)
    assert there.status().done >= refused[0] > 0


@pytest.mark.slow
def test_a_campaign_runs_over_tls(certificates, tmp_path):
    wanted(tmp_path / "here").run(progress=False)
    (tmp_path / "base.toml").write_text(scenario("2 s").to_toml(), encoding="utf-8")
    file = tmp_path / "small.toml"
    file.write_text(
        f'base = "base.toml"\nruns = 20\n[axes]\n"{QUEUE}" = ["5 packets", "10 packets"]\n', encoding="utf-8"
    )
    tls = "DASK_DISTRIBUTED__COMM__TLS__"
    configured = {
        f"{tls}CA_FILE": certificates["tls_ca_file"],
        f"{tls}CLIENT__CERT": certificates["tls_client_cert"],
        f"{tls}CLIENT__KEY": certificates["tls_client_key"],
    }
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        dashboard_address=None,
        silence_logs="CRITICAL",
        protocol="tls://",
        security=Security(**certificates, require_encryption=True),
    ) as local:
        address = local.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        command = [sys.executable, "-m", "dumbbell.cli", "campaign", file, "--scheduler", address]

        def call(output, variables):
            return subprocess.run(
                [*command, "--output", tmp_path / output],
                env=os.environ | variables,
                capture_output=True,
                text=True,
                timeout=100,
                check=False,
            )

        done = call("there", configured)
        refused = call("refused", {})
        plain = subprocess.run(
            [*command[:-1], address.replace("tls", "tcp"), "--output", tmp_path / "plain"],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "not encrypted" not in done.stderr
    stored = content(tmp_path / "here")
    assert stored.items() <= content(tmp_path / "there").items()
    # Without a certificate, no client is one of the cluster.
    for other in (refused, plain):
        assert other.returncode == 2
        assert len(other.stderr.splitlines()) == 1, other.stderr
        assert other.stderr.startswith(f'error: scheduler: "{address[:3] if other is refused else "tcp"}://')


@pytest.mark.parametrize(
    ("address", "guarded"),
    [
        ("tls://192.0.2.1:8786", True),
        ("wss://192.0.2.1:8786", True),
        ("inproc://192.0.2.1/1/2", True),
        ("tcp://127.0.0.1:8786", True),
        ("tcp://127.8.8.8:8786", True),
        ("tcp://[::1]:8786", True),
        ("tcp://localhost:8786", True),
        ("tcp://192.0.2.1:8786", False),
        ("192.0.2.1:8786", False),
        ("tcp://[2001:db8::1]:8786", False),
        ("tcp://cluster.example:8786", False),
        ("ws://192.0.2.1:8786", False),
    ],
)
def test_an_address_is_guarded_by_tls_or_by_its_machine(address, guarded):
    assert cluster._is_guarded(address) is guarded


def test_an_address_that_is_not_guarded_gives_a_warning(client, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "_is_guarded", lambda _address: False)
    there = wanted(tmp_path, runs=1).run(client, progress=False)
    assert there.warnings == [f"{client.scheduler.address} {cluster.OPEN}"]


def test_killed_workers_lose_nothing(client, tmp_path):
    """A small version of ``tests/torture/campaign.py``."""
    size = {"duration": "60 s", "runs": 150}
    wanted(tmp_path / "here", **size).run(progress=False)
    there = wanted(tmp_path / "there", **size)
    alive, killed = client.run(os.getpid), []

    def kill():
        deadline = time.monotonic() + 60
        while there.status().done < 20 and time.monotonic() < deadline:
            time.sleep(0.02)
        killed.append(random.Random(1).choice(sorted(alive.values())))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    there.run(client, progress=False)
    killer.join()
    assert there.made == 300
    assert killed[0] not in client.run(os.getpid, on_error="ignore").values()
    assert content(tmp_path / "here") == content(tmp_path / "there")


@pytest.mark.slow
def test_a_killed_campaign_loses_only_runs_in_progress(client, tmp_path):
    size = {"duration": "60 s", "runs": 100}
    file = tmp_path / "small.toml"
    (tmp_path / "base.toml").write_text(scenario("60 s").to_toml(), encoding="utf-8")
    file.write_text(
        f'base = "base.toml"\nruns = 100\n[axes]\n"{QUEUE}" = ["5 packets", "10 packets"]\n', encoding="utf-8"
    )
    found = wanted(tmp_path / "killed", **size)
    draw, before = random.Random(2), 0
    for options in ([], ["--scheduler", client.scheduler.address]):
        command = [sys.executable, "-m", "dumbbell.cli", "campaign", file, "--output", found.store, *options]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while found.status().done < before + 30 and process.poll() is None:
                time.sleep(0.02)
            time.sleep(draw.uniform(0.0, 0.3))
        finally:
            process.kill()
            process.wait(timeout=30)
        names = found.frame()[["hash", "seed", "run"]]
        assert not names.duplicated().any()
        assert not found.status().warnings
        assert len(names) >= before
        before = len(names)
    assert before >= 30
    found.run(client, progress=False)
    assert found.made == 200 - before
    # What a command that was killed at its end had exported, or had begun to.
    for exported in found.store.glob("*.parquet*"):
        exported.unlink()
    wanted(tmp_path / "straight", **size).run(progress=False)
    assert content(tmp_path / "straight") == content(tmp_path / "killed")


def test_a_silent_worker_is_named_and_its_runs_are_not_lost(client, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(cluster, "SILENT_S", 1.5)
    monkeypatch.setattr(cluster, "COUNTED_S", 0.3)
    address, process = next(iter(client.run(os.getpid).items()))
    resumed = threading.Timer(4.0, os.kill, (process, signal.SIGCONT))
    submit = cluster._Batches._submit

    def submit_and_stop(batches, batch):
        submit(batches, batch)
        # Both workers are about to get a batch.
        if batches._submitted == 4:
            os.kill(process, signal.SIGSTOP)
            resumed.start()

    monkeypatch.setattr(cluster._Batches, "_submit", submit_and_stop)
    found = wanted(tmp_path, runs=150)
    try:
        found.run(client, progress=False)
    finally:
        resumed.join()
    assert found.made == 300
    said = capfd.readouterr().err
    assert said.count(f"warning: worker {address} has not answered for ") == 1
    assert "distributed.scheduler.worker-ttl" in said


def test_a_worker_that_is_silent_from_the_beginning_is_named(client, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(cluster, "SILENT_S", 1.5)
    address, process = next(iter(client.run(os.getpid).items()))
    os.kill(process, signal.SIGSTOP)
    resumed = threading.Timer(4.0, os.kill, (process, signal.SIGCONT))
    begin = time.monotonic()
    try:
        [warning] = cluster.checked(client)
        waited = time.monotonic() - begin
        resumed.start()
        found = wanted(tmp_path).run(client, progress=False)
    finally:
        resumed.join() if resumed.is_alive() else os.kill(process, signal.SIGCONT)
    assert warning.startswith(f"worker {address} has not answered for 2 s; its runs wait until it answers")
    assert 1.5 <= waited < 60
    # The other worker is compared, and no run is lost.
    assert found.made == 40
    assert found.warnings == [warning]
    assert f"warning: {warning}" in capfd.readouterr().err


def test_a_control_that_is_wrong_is_refused_as_on_this_machine(client, tmp_path):
    own = scenario("2 s").with_values({"flows.fg.tcp": Small()})
    for on in (None, client):
        with pytest.raises(ControlError) as refused:
            Campaign(own, store=tmp_path / str(on is None)).run(on, progress=False)
        assert str(refused.value).startswith("Small.on_ack: cwnd is 1.0; expected a finite number of bytes")


def test_a_failing_reduction_is_reported_and_completed_runs_are_kept(client, tmp_path):
    found = wanted(tmp_path, reduce=failing)
    with pytest.raises(ZeroDivisionError, match="nothing to divide"):
        found.run(client, progress=False)
    assert 0 <= found.status().done < 40


def test_another_engine_is_refused(client, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "engine_identity", lambda: "0.0.0-other")
    with pytest.raises(
        ScenarioError, match=r"is a worker with the engine .*; expected workers with the engine"
    ):
        wanted(tmp_path).run(client, progress=False)
    # A worker that comes later is asked with its first batch.
    monkeypatch.setattr(cluster, "checked", lambda _client: [])
    with pytest.raises(ScenarioError, match="is a worker with the engine"):
        wanted(tmp_path).run(client, progress=False)
    assert wanted(tmp_path).status().done == 0


def test_different_package_versions_are_reported(client, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "computing", lambda: {"numpy": "0.1"})
    found = wanted(tmp_path, runs=1).run(client, progress=False)
    assert found.warnings
    assert all("here it is numpy 0.1" in text for text in found.warnings)


def test_an_unreachable_cluster_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "TIMEOUT_S", 0.5)
    with pytest.raises(ScenarioError, match="does not answer"):
        wanted(tmp_path).run("tcp://127.0.0.1:9", progress=False)
    with pytest.raises(ScenarioError, match=r"expected a distributed\.Client or the address"):
        wanted(tmp_path).run(8786, progress=False)
    with (
        LocalCluster(n_workers=0, dashboard_address=None, processes=False) as empty,
        Client(empty) as nobody,
        pytest.raises(ScenarioError, match="has no worker"),
    ):
        wanted(tmp_path).run(nobody, progress=False)


@pytest.mark.slow
def test_a_paper_is_reproduced_on_a_cluster(client, tmp_path, request):
    folder = tmp_path / "papers"
    write_paper(folder, "small-paper", SMALL)
    request.addfinalizer(forget_papers)
    here, there = (
        papers.reproduce("small-paper", papers=folder, output=tmp_path / name, quiet=True, on=on)
        for name, on in (("here", None), ("there", client))
    )
    assert there.data["claims"] == here.data["claims"]
    assert content(tmp_path / "here" / "cache") == content(tmp_path / "there" / "cache")


def test_a_batch_takes_a_second_and_at_most_half_of_what_is_left_for_its_thread():
    batches = cluster._Batches(goodput, None, range(100), None, None)
    assert batches._size() == 1
    batches._threads, batches._made, batches._took_s = 2, 40, 4.0
    # Ten runs take a second.
    assert batches._size() == 10
    # Of 30 runs that are left, two threads get 15 each, in two batches.
    batches._next = 70
    assert batches._size() == 8
    batches._next = 99
    assert batches._size() == 1


def test_a_silent_worker_is_named_once_until_its_next_heartbeat():
    named = []
    heartbeats = {"a": 1.0, "b": 1.0}

    class Scheduler:
        def scheduler_info(self, n_workers):  # noqa: ARG002 - the signature of Client
            return {"workers": {name: {"last_seen": seen} for name, seen in heartbeats.items()}}

    batches = cluster._Batches(goodput, Scheduler(), [], None, named.append)

    def listened(now, *, heartbeat):
        heartbeats["b"] = heartbeat
        batches._listen(now)
        found = [text.partition(";")[0] for text in named]
        named.clear()
        return found

    assert listened(1000.0, heartbeat=1.0) == []
    assert listened(1000.0 + cluster.SILENT_S - 1.0, heartbeat=2.0) == []
    assert listened(1000.0 + cluster.SILENT_S, heartbeat=3.0) == ["worker a has not answered for 30 s"]
    assert listened(1090.0, heartbeat=4.0) == []
    heartbeats["a"] = 2.0
    assert listened(1100.0, heartbeat=5.0) == []
    assert listened(1130.0, heartbeat=6.0) == ["worker a has not answered for 30 s"]


class Talking(SchedulerPlugin):
    """Tells a client something together with the answer to its connection, as many times as stated."""

    def __init__(self, times):
        self.times = times

    def add_client(self, scheduler, client):
        if self.times > 0:
            self.times -= 1
            message = {"op": "cancelled-keys", "keys": [], "reason": None, "msg": None}
            scheduler.loop.asyncio_loop.call_soon(lambda: scheduler.client_comms[client].send(message))


def test_a_client_that_is_told_something_with_its_answer_connects_again(caplog):
    with LocalCluster(n_workers=0, dashboard_address=None, processes=False) as empty:
        empty.scheduler.add_plugin(talking := Talking(2))
        with cluster.connected(empty.scheduler_address) as client:
            assert client.status == "running"
        assert talking.times == 0
        talking.times = cluster.CONNECTIONS
        with (
            pytest.raises(ScenarioError, match="told other clients something at each of 5 attempts"),
            cluster.connected(empty.scheduler_address),
        ):
            pass
    gc.collect()
    assert "dangling" not in caplog.text


def test_a_client_without_memory_for_its_thread_is_an_error(monkeypatch):
    def none(_):
        raise MemoryError("a thread could not begin")

    monkeypatch.setattr(cluster, "start", none)
    with (
        pytest.raises(MemoryError, match="a thread could not begin"),
        cluster.connected("tcp://127.0.0.1:9"),
    ):
        pass


def test_a_loop_that_cannot_run_raises_its_error(monkeypatch):
    def none(coroutine):
        coroutine.close()
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(cluster.asyncio, "run", none)
    with pytest.raises(OSError, match="Too many open files"):
        cluster._running_loop()


def test_batches_are_halved_down_to_a_single_run():
    batches, singles = [cluster._Batch(range(5))], []
    while batches:
        batch = batches.pop()
        (batches.extend(batch.halves()) if len(batch.positions) > 1 else singles.append(*batch.positions))
    assert sorted(singles) == [0, 1, 2, 3, 4]


def test_frames_of_a_cluster_equal_those_of_this_machine(client, tmp_path):
    here = wanted(tmp_path / "here", runs=2).run(progress=False)
    there = wanted(tmp_path / "there", runs=2).run(client, progress=False)
    pd.testing.assert_frame_equal(here.frame("links"), there.frame("links"), check_exact=True)
    assert json.loads(here.status().points.to_json()) == json.loads(there.status().points.to_json())


@pytest.mark.slow
def test_a_run_that_kills_its_workers_is_named(tmp_path):
    # Others share its workers and die with them. They are finished nevertheless, and none of them is named.
    found = wanted(tmp_path, runs=6, reduce=deadly)
    with (
        two_workers() as dying,
        pytest.raises(
            campaign.ClusterError, match=r"workers die during run 3 with seed 1 of scenario [0-9a-f]{16}"
        ),
    ):
        found.run(dying, progress=False)
    assert found.status().done == 10
