//! What every registered congestion control must hold to, whatever happens to it.

use dumbbell_cc::{Ack, Algorithm, AlgorithmSpec, Congestion, Context, Mechanisms};
use dumbbell_cc::{Queueing, Setup, Signal, WindowRules};
use dumbbell_units::{Stream, Time};

const MSS: f64 = 1000.0;

fn setup(bits: u16) -> Setup {
    Setup {
        now: Time::ZERO,
        mss: MSS,
        initial_window: 2.0 * MSS,
        initial_ssthresh: 40.0 * MSS,
        rules: WindowRules::default(),
        mechanisms: Mechanisms::from_bits(bits),
    }
}

/// A connection as its algorithm sees it, driven by random events.
struct Drive {
    random: Stream,
    algorithm: Algorithm,
    now: u64,
    una: u64,
    nxt: u64,
    max_window: f64,
}

impl Drive {
    fn new(name: &str, bits: u16, seed: u64) -> Self {
        let spec = AlgorithmSpec::named(name).expect("a registered name");
        Drive {
            random: Stream::new(seed, 0, name),
            algorithm: Algorithm::new(&spec, &setup(bits)),
            now: 0,
            una: 0,
            nxt: 0,
            max_window: 100.0 * MSS,
        }
    }

    fn context(&self) -> Context {
        Context {
            now: Time(self.now),
            mss: MSS,
            snd_una: self.una,
            snd_nxt: self.nxt,
            flight_size: (self.nxt - self.una) as f64,
            inflation: 0.0,
            max_window: self.max_window,
            loss_window: MSS,
        }
    }

    fn fill(&mut self) {
        while (self.nxt - self.una) as f64 + MSS <= self.algorithm.cwnd() {
            self.nxt += MSS as u64;
            let context = self.context();
            self.algorithm.on_sent(&context, MSS as u32);
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
        let ack = Ack { ack: self.una + acked, acked, rtt, queueing, in_recovery };
        let context = self.context();
        self.algorithm.on_ack(&context, &ack);
        self.una += acked;
    }

    fn congestion(&mut self, signal: Signal) {
        let context = self.context();
        let pipe = (self.nxt - self.una) as f64;
        self.algorithm.on_congestion(&context, &Congestion { signal, retransmitted_before: false, pipe });
        if signal != Signal::FastRetransmit {
            self.nxt = self.una;
        }
    }

    fn step(&mut self) {
        self.now += (self.random.uniform() * 2e7) as u64;
        self.fill();
        let context = self.context();
        match (self.random.uniform() * 100.0) as u32 {
            0 => self.congestion(Signal::FastRetransmit),
            1 => self.congestion(Signal::Timeout),
            2 => self.congestion(Signal::Restart),
            3 => self.algorithm.on_restart(&context),
            4..=9 => self.algorithm.on_duplicate_ack(&context),
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
fn the_window_does_not_grow_on_acknowledgements_within_a_recovery() {
    every_case(|name, bits| {
        let mut drive = Drive::new(name, bits, 2);
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
fn a_clone_goes_the_same_way_as_its_original() {
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
