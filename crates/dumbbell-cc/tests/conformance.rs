//! Properties of every registered congestion control, whatever the events.

use dumbbell_cc::{
    Ack, Algorithm, AlgorithmSpec, Congestion, Context, GrowPer, GrowWhen, Growth, LostSegment, Mechanisms,
    ProbeInfo, Queueing, RateSample, RecoveryExit, Restart, SentSegment, Setup, Signal, SlowStartSpec, Undo,
    UnusedWindow, WindowRules,
};
use dumbbell_units::{Stream, Time};
use std::collections::BTreeMap;

const MSS: f64 = 1000.0;

fn setup(bits: u16) -> Setup {
    Setup::new(Time::ZERO, MSS, 2.0 * MSS)
        .with_initial_ssthresh(40.0 * MSS)
        .with_mechanisms(Mechanisms::from_bits(bits))
}

/// A connection as its algorithm sees it, driven by random events.
struct Drive {
    random: Stream,
    algorithm: Algorithm,
    now: u64,
    una: u64,
    nxt: u64,
    max_window: f64,
    /// True if ACKs state that the window does not limit the sender.
    is_unused: bool,
    /// Maximum growth of such a window by one acknowledgement, in bytes.
    unused_growth: f64,
}

impl Drive {
    fn new(name: &str, bits: u16, seed: u64) -> Self {
        Drive::by(WindowRules::default(), name, bits, seed)
    }

    fn by(rules: WindowRules, name: &str, bits: u16, seed: u64) -> Self {
        let spec = AlgorithmSpec::named(name).expect("a registered name");
        Drive {
            random: Stream::new(seed, 0, name),
            algorithm: Algorithm::new(&spec, &setup(bits).with_rules(rules)),
            now: 0,
            una: 0,
            nxt: 0,
            max_window: 100.0 * MSS,
            is_unused: false,
            unused_growth: 0.0,
        }
    }

    fn context(&self) -> Context {
        Context::new(Time(self.now), MSS).with_sent(self.una, self.nxt).with_max_window(self.max_window)
    }

    fn fill(&mut self) {
        while (self.nxt - self.una) as f64 + MSS <= self.algorithm.cwnd() {
            let context = self.context();
            let segment = SentSegment::new(self.nxt, MSS as u32);
            self.algorithm.on_sent(|| (context, segment));
            self.nxt += MSS as u64;
        }
    }

    fn acknowledge(&mut self, segments: u64, in_recovery: bool) {
        let acked = (segments * MSS as u64).min(self.nxt - self.una);
        if acked == 0 {
            return;
        }
        let rtt = Some(Time(50_000_000 + (self.random.uniform() * 5e7) as u64));
        let mut waited = || Time((self.random.uniform() * 6e7) as u64);
        let queueing = Queueing { forward: waited(), backward: waited() };
        let queueing = self.random.chance(0.8).then_some(queueing);
        let rate = self.random.chance(0.8).then(|| RateSample::new(acked, Time(50_000_000)).with_rtt(rtt));
        let marked = if self.random.chance(0.1) { acked } else { 0 };
        let ack = Ack::new(self.una + acked, acked)
            .with_rtt(rtt)
            .with_queueing(queueing)
            .with_rate(rate.as_ref())
            .with_marked(marked)
            .with_marked_packets((marked as f64 / MSS).ceil() as u64)
            .with_ecn_echo(marked > 0)
            .with_in_flight((self.nxt - self.una - acked) as f64)
            .with_recovery(in_recovery)
            .with_cwnd_limited(!self.is_unused);
        let context = self.context();
        let before = self.algorithm.cwnd();
        self.algorithm.on_ack(&context, &ack);
        if self.is_unused {
            self.unused_growth = self.unused_growth.max(self.algorithm.cwnd() - before);
        }
        self.una += acked;
    }

    fn congestion(&mut self, signal: Signal) {
        let context = self.context();
        self.algorithm.on_congestion(&context, &Congestion::new(signal));
        if signal.restarts() {
            self.nxt = self.una;
        }
    }

    /// A segment is lost and repaired, with all related calls.
    fn recover(&mut self) {
        let lost = LostSegment::new(self.una, MSS as u32, Time(self.now)).with_tx_in_flight(MSS);
        let context = self.context();
        self.algorithm.on_loss(&context, &lost);
        self.congestion(Signal::FastRetransmit);
        self.algorithm.on_recovery_enter(&self.context());
        self.acknowledge(3, true);
        self.algorithm.on_recovery_exit(&self.context(), &RecoveryExit::default());
    }

    fn step(&mut self) {
        self.now += (self.random.uniform() * 2e7) as u64;
        self.fill();
        let context = self.context();
        match (self.random.uniform() * 100.0) as u32 {
            0 => self.congestion(Signal::FastRetransmit),
            1 => self.congestion(Signal::Timeout),
            2 => self.congestion(Signal::Restart),
            3 => self.algorithm.on_restart(&context, &Restart::new(Time(2_000_000_000), Time(1_000_000_000))),
            4 => self.congestion(Signal::EcnEcho),
            5 => self.recover(),
            15 => {
                let (cwnd, ssthresh) = (self.algorithm.cwnd(), self.algorithm.ssthresh());
                self.congestion(Signal::FastRetransmit);
                self.algorithm.on_undo(&context, &Undo::new(Signal::FastRetransmit, cwnd, ssthresh));
            }
            16 => {
                // No less than the initial window, unless it is already.
                let cwnd = self.algorithm.cwnd();
                let window = (cwnd / 2.0).max(cwnd.min(2.0 * MSS));
                self.algorithm.on_unused_window(&context, &UnusedWindow::new(window));
            }
            6..=9 => self.algorithm.on_duplicate_ack(|| (context, Ack::new(self.una, 0))),
            10..=14 => self.acknowledge(3, true),
            n => self.acknowledge(u64::from(n % 3) + 1, false),
        }
    }
}

fn every_case(mut check: impl FnMut(&str, u16)) {
    for name in AlgorithmSpec::NAMES {
        for bits in [0, 0b01_1111_1111, 0b10_0000_0011, 0b00_0011_0000] {
            check(name, bits);
        }
    }
}

#[test]
fn the_window_stays_finite_and_at_least_one_segment() {
    every_case(|name, bits| {
        for seed in 0..20 {
            let mut drive = Drive::new(name, bits, seed);
            for _ in 0..3000 {
                drive.step();
                let (cwnd, ssthresh) = (drive.algorithm.cwnd(), drive.algorithm.ssthresh());
                assert!(cwnd.is_finite() && cwnd >= MSS, "{name}: cwnd {cwnd}");
                assert!(ssthresh >= MSS, "{name}: ssthresh {ssthresh}");
            }
        }
    });
}

#[test]
fn the_window_does_not_grow_beyond_what_the_receiver_allows() {
    every_case(|name, bits| {
        let mut drive = Drive::new(name, bits, 1);
        drive.max_window = 10.0 * MSS;
        for _ in 0..5000 {
            drive.now += 1_000_000;
            drive.fill();
            drive.acknowledge(1, false);
            assert!(drive.algorithm.cwnd() <= 10.0 * MSS, "{name}");
        }
    });
}

#[test]
fn a_window_that_does_not_limit_the_sender_does_not_grow() {
    every_case(|name, bits| {
        for seed in 0..20 {
            let mut drive = Drive::new(name, bits, seed);
            if drive.algorithm.is_model_based() {
                return;
            }
            for step in 0..3000 {
                // Periods in which the application offers less than the window allows.
                drive.is_unused = step / 50 % 2 == 1;
                drive.step();
                assert!(drive.unused_growth <= 0.0, "{name}: by {} bytes", drive.unused_growth);
            }
        }
    });
}

#[test]
fn every_slow_start_grows_to_the_threshold_and_never_if_the_window_is_unused() {
    for name in SlowStartSpec::NAMES {
        let slow_start = SlowStartSpec::named(name).expect("a registered name");
        let rules = WindowRules { slow_start, ..WindowRules::default() };
        let taking = AlgorithmSpec::NAMES.iter().filter_map(|name| AlgorithmSpec::named(name));
        for spec in taking.filter(AlgorithmSpec::takes_slow_start) {
            let mut steady = Drive::by(rules, spec.name(), 0, 0);
            for _ in 0..100 {
                steady.now += 10_000_000;
                steady.fill();
                steady.acknowledge(1, false);
            }
            assert!(steady.algorithm.cwnd() >= steady.algorithm.ssthresh(), "{name}");
            let mut random = Drive::by(rules, spec.name(), 0, 1);
            for step in 0..20_000 {
                random.is_unused = step / 50 % 2 == 1;
                random.step();
                let cwnd = random.algorithm.cwnd();
                assert!(cwnd.is_finite() && cwnd >= MSS && random.unused_growth <= 0.0, "{name}: {cwnd}");
            }
        }
    }
}

#[test]
fn windows_that_grow_by_segments_keep_all_properties() {
    for growth in [Growth::Real, Growth::Segments] {
        let rules = WindowRules { growth, grow_per: GrowPer::Segment, ..WindowRules::default() };
        every_case(|name, bits| {
            let mut drive = Drive::by(rules, name, bits, 6);
            for step in 0..10_000 {
                drive.is_unused = step / 50 % 2 == 1;
                drive.step();
                let cwnd = drive.algorithm.cwnd();
                assert!(
                    cwnd.is_finite() && (MSS..=drive.max_window.max(40.0 * MSS)).contains(&cwnd),
                    "{name}: {cwnd}"
                );
                let may_grow = drive.algorithm.is_model_based();
                assert!(may_grow || drive.unused_growth <= 0.0, "{name}: by {} bytes", drive.unused_growth);
            }
        });
    }
}

#[test]
fn every_unused_window_grows_if_the_rules_allow_it() {
    let rules = WindowRules { grow_when: GrowWhen::Always, ..WindowRules::default() };
    for name in AlgorithmSpec::NAMES {
        let mut drive = Drive::by(rules, name, 0, 0);
        drive.is_unused = true;
        for _ in 0..50 {
            drive.now += 10_000_000;
            drive.fill();
            drive.acknowledge(1, false);
        }
        assert!(drive.algorithm.cwnd() > 2.0 * MSS, "{name}");
    }
}

#[test]
fn an_undo_reverts_a_reaction_completely_or_not_at_all() {
    every_case(|name, bits| {
        let mut drive = Drive::new(name, bits, 4);
        for _ in 0..300 {
            drive.step();
        }
        for signal in [Signal::FastRetransmit, Signal::Timeout] {
            let state = |drive: &Drive| (drive.algorithm.cwnd(), drive.algorithm.ssthresh());
            let before = state(&drive);
            drive.congestion(signal);
            let cut = state(&drive);
            drive.algorithm.on_undo(&drive.context(), &Undo::new(signal, before.0, before.1));
            let undone = state(&drive);
            assert!(undone == cut || undone.0 >= before.0 && undone.1 >= before.1, "{name}: {undone:?}");
        }
    });
}

#[test]
fn a_window_that_is_not_used_is_reduced_as_told_or_kept() {
    every_case(|name, bits| {
        let mut drive = Drive::new(name, bits, 7);
        for _ in 0..300 {
            drive.step();
        }
        let before = drive.algorithm.cwnd();
        let window = (before / 2.0).max(MSS);
        let is_taken = drive.algorithm.on_unused_window(&drive.context(), &UnusedWindow::new(window));
        assert_eq!(drive.algorithm.cwnd(), if is_taken { window } else { before }, "{name}");
        assert!(!is_taken || drive.algorithm.ssthresh() >= 0.75 * before, "{name}");
    });
}

#[test]
fn probes_have_one_meaning_and_a_value_per_index() {
    let mut known: BTreeMap<&str, ProbeInfo> = BTreeMap::new();
    for name in AlgorithmSpec::NAMES {
        let mut drive = Drive::new(name, 0b01_1111_1111, 5);
        for _ in 0..2000 {
            drive.step();
        }
        let declared = AlgorithmSpec::named(name).expect("a registered name").probes();
        assert_eq!(drive.algorithm.probes(), declared);
        for (index, probe) in declared.iter().enumerate() {
            assert_eq!(known.entry(probe.name).or_insert(*probe), probe, "{name}");
            assert!(drive.algorithm.probe(index).is_some_and(f64::is_finite), "{name}: {}", probe.name);
        }
        assert_eq!(drive.algorithm.probe(declared.len()), None, "{name} answers for more than it declares");
    }
}

#[test]
fn the_window_does_not_grow_on_acknowledgements_within_a_recovery() {
    every_case(|name, bits| {
        let mut drive = Drive::new(name, bits, 2);
        if drive.algorithm.is_model_based() {
            // It sets the window in recoveries, too.
            return;
        }
        for _ in 0..200 {
            drive.step();
        }
        drive.nxt = drive.una + 20 * MSS as u64;
        drive.congestion(Signal::FastRetransmit);
        let cut = drive.algorithm.cwnd();
        for _ in 0..10 {
            drive.acknowledge(1, true);
            assert!(drive.algorithm.cwnd() <= cut, "{name}");
        }
    });
}

#[test]
fn congestion_never_raises_a_filled_window_and_a_timeout_restarts_from_the_loss_window() {
    every_case(|name, bits| {
        for seed in 0..50 {
            let mut drive = Drive::new(name, bits, seed);
            for _ in 0..150 {
                drive.step();
            }
            let before = drive.algorithm.cwnd().max(2.0 * MSS);
            drive.nxt = drive.una + drive.algorithm.cwnd() as u64;
            let mut lost =
                Drive { random: drive.random.clone(), algorithm: drive.algorithm.clone(), ..drive };
            lost.congestion(Signal::FastRetransmit);
            assert!(lost.algorithm.cwnd() <= before, "{name}: {} after {before}", lost.algorithm.cwnd());
            lost.congestion(Signal::Timeout);
            assert_eq!(lost.algorithm.cwnd(), MSS, "{name}");
        }
    });
}

#[test]
fn a_clone_behaves_like_its_original() {
    every_case(|name, bits| {
        let mut original = Drive::new(name, bits, 3);
        for _ in 0..500 {
            original.step();
        }
        let mut clone =
            Drive { random: original.random.clone(), algorithm: original.algorithm.clone(), ..original };
        for _ in 0..500 {
            original.step();
            clone.step();
            assert_eq!(original.algorithm.cwnd().to_bits(), clone.algorithm.cwnd().to_bits(), "{name}");
        }
    });
}
