//! Properties that every congestion control has, whatever the events. The registry's tests and those of external controls
//! check the same.

use crate::{
    Ack, Algorithm, Congestion, Context, LostSegment, Queueing, RateSample, RecoveryExit, Restart,
    SentSegment, Setup, Signal, Undo, UnusedWindow,
};
use dumbbell_units::{Stream, Time};

/// Payload of a segment of a [`Drive`], in bytes.
pub const MSS: f64 = 1000.0;

/// The setup of a connection of a [`Drive`].
pub fn setup() -> Setup {
    Setup::new(Time::ZERO, MSS, 2.0 * MSS).with_initial_ssthresh(40.0 * MSS)
}

/// A connection as its algorithm sees it, driven by random events.
#[derive(Clone, Debug)]
pub struct Drive {
    random: Stream,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The time, in nanoseconds.
    pub now: u64,
    una: u64,
    nxt: u64,
    /// Largest window that the receiver allows, in bytes.
    pub max_window: f64,
    /// True if the round-trip time is constant, and nothing waits or is marked.
    pub is_steady: bool,
    /// True if ACKs state that the window does not limit the sender.
    pub is_unused: bool,
    /// Maximum growth of such a window by one acknowledgement, in bytes.
    pub unused_growth: f64,
}

impl Drive {
    /// An algorithm at the start of its connection, with random events of this seed.
    pub fn new(algorithm: Algorithm, seed: u64) -> Self {
        Drive {
            random: Stream::new(seed, 0, "conformance"),
            algorithm,
            now: 0,
            una: 0,
            nxt: 0,
            max_window: 100.0 * MSS,
            is_steady: false,
            is_unused: false,
            unused_growth: 0.0,
        }
    }

    /// Random events, `count` of them.
    pub fn steps(&mut self, count: usize) {
        (0..count).for_each(|_| self.step());
    }

    /// A loss-free connection of full windows: `count` segments acknowledged one by one, each after some time.
    pub fn deliver(&mut self, count: usize, each: Time) {
        for _ in 0..count {
            self.now += each.0;
            self.fill();
            self.acknowledge(1, false);
        }
    }

    /// The connection before the next event.
    pub fn context(&self) -> Context {
        Context::new(Time(self.now), MSS).with_sent(self.una, self.nxt).with_max_window(self.max_window)
    }

    /// Sends what the window allows.
    pub fn fill(&mut self) {
        while (self.nxt - self.una) as f64 + MSS <= self.algorithm.cwnd() {
            let context = self.context();
            let segment = SentSegment::new(self.nxt, MSS as u32);
            self.algorithm.on_sent(|| (context, segment));
            self.nxt += MSS as u64;
        }
    }

    /// Acknowledges up to this many segments.
    pub fn acknowledge(&mut self, segments: u64, in_recovery: bool) {
        let acked = (segments * MSS as u64).min(self.nxt - self.una);
        if acked == 0 {
            return;
        }
        let more = if self.is_steady { 0 } else { (self.random.uniform() * 5e7) as u64 };
        let rtt = Some(Time(50_000_000 + more));
        let mut waited = || Time((self.random.uniform() * 6e7) as u64);
        let queueing = Queueing { forward: waited(), backward: waited() };
        let queueing = (!self.is_steady && self.random.chance(0.8)).then_some(queueing);
        let rate = self.random.chance(0.8).then(|| RateSample::new(acked, Time(50_000_000)).with_rtt(rtt));
        let marked = if !self.is_steady && self.random.chance(0.1) { acked } else { 0 };
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

    /// A congestion event.
    pub fn congestion(&mut self, signal: Signal) {
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

    /// One random event.
    pub fn step(&mut self) {
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

/// Creates an algorithm at the start of a connection.
pub type Create<'a> = &'a dyn Fn() -> Algorithm;

/// A property: an error says in a sentence how an algorithm violates it.
pub type Property = fn(Create<'_>) -> Result<(), String>;

/// All properties.
pub const PROPERTIES: &[Property] = &[
    the_window_stays_finite_and_at_least_one_segment,
    the_window_does_not_grow_beyond_what_the_receiver_allows,
    a_window_that_does_not_limit_the_sender_does_not_grow,
    the_window_does_not_grow_within_a_recovery,
    a_loss_never_raises_a_full_window_and_a_timeout_restarts,
    an_undo_is_complete_or_has_no_effect,
    a_window_that_is_not_used_is_reduced_as_told_or_kept,
    a_copy_behaves_like_its_original,
    the_same_events_give_the_same_windows,
];

fn holds(condition: bool, violation: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(violation()) }
}

/// Also required of every algorithm without the mechanisms of Vegas, some of which keep a window constant.
///
/// # Errors
///
/// The window does not grow over a path with a constant round-trip time.
pub fn the_window_grows_while_nothing_is_lost(create: Create<'_>) -> Result<(), String> {
    let mut drive = Drive::new(create(), 0);
    drive.is_steady = true;
    let before = drive.algorithm.cwnd();
    drive.deliver(50, Time(10_000_000));
    let after = drive.algorithm.cwnd();
    holds(after > before, || {
        format!(
            "the window never grows: it is {after} bytes after 50 acknowledgements without a loss, and was {before}"
        )
    })
}

fn the_window_stays_finite_and_at_least_one_segment(create: Create<'_>) -> Result<(), String> {
    for seed in 0..20 {
        let mut drive = Drive::new(create(), seed);
        for _ in 0..3000 {
            drive.step();
            let (cwnd, ssthresh) = (drive.algorithm.cwnd(), drive.algorithm.ssthresh());
            holds(cwnd.is_finite() && cwnd >= MSS, || {
                format!("the window is {cwnd} bytes; expected a finite number, at least one segment ({MSS})")
            })?;
            holds(ssthresh >= MSS, || {
                format!("the threshold is {ssthresh} bytes; expected at least one segment ({MSS})")
            })?;
        }
    }
    Ok(())
}

fn the_window_does_not_grow_beyond_what_the_receiver_allows(create: Create<'_>) -> Result<(), String> {
    let mut drive = Drive::new(create(), 1);
    drive.max_window = 10.0 * MSS;
    drive.deliver(5000, Time(1_000_000));
    let cwnd = drive.algorithm.cwnd();
    holds(cwnd <= 10.0 * MSS, || {
        format!("the window grows to {cwnd} bytes where the receiver allows {}; grow it by grown", 10.0 * MSS)
    })
}

fn a_window_that_does_not_limit_the_sender_does_not_grow(create: Create<'_>) -> Result<(), String> {
    for seed in 0..20 {
        let mut drive = Drive::new(create(), seed);
        if drive.algorithm.is_model_based() || drive.algorithm.grows_unused() {
            return Ok(());
        }
        for step in 0..3000 {
            // Periods in which the application offers less than the window allows.
            drive.is_unused = step / 50 % 2 == 1;
            drive.step();
        }
        let growth = drive.unused_growth;
        holds(growth <= 0.0, || {
            format!("a window that does not limit the sender grows by {growth} bytes; grow it by grown")
        })?;
    }
    Ok(())
}

fn the_window_does_not_grow_within_a_recovery(create: Create<'_>) -> Result<(), String> {
    let mut drive = Drive::new(create(), 2);
    if drive.algorithm.is_model_based() {
        // It sets the window in recoveries, too.
        return Ok(());
    }
    drive.steps(200);
    drive.nxt = drive.una + 20 * MSS as u64;
    drive.congestion(Signal::FastRetransmit);
    let cut = drive.algorithm.cwnd();
    for _ in 0..10 {
        drive.acknowledge(1, true);
        let cwnd = drive.algorithm.cwnd();
        holds(cwnd <= cut, || {
            format!("the window grows from {cut} to {cwnd} bytes during a recovery; look at in_recovery")
        })?;
    }
    Ok(())
}

fn a_loss_never_raises_a_full_window_and_a_timeout_restarts(create: Create<'_>) -> Result<(), String> {
    for seed in 0..50 {
        let mut drive = Drive::new(create(), seed);
        drive.steps(150);
        let before = drive.algorithm.cwnd().max(2.0 * MSS);
        drive.nxt = drive.una + drive.algorithm.cwnd() as u64;
        let mut lost = drive.clone();
        lost.congestion(Signal::FastRetransmit);
        let after = lost.algorithm.cwnd();
        holds(after <= before, || format!("a loss raises the window from {before} to {after} bytes"))?;
        lost.congestion(Signal::Timeout);
        let after = lost.algorithm.cwnd();
        holds(after == MSS, || {
            format!("after a timeout the window is {after} bytes; expected the loss window ({MSS})")
        })?;
    }
    Ok(())
}

fn an_undo_is_complete_or_has_no_effect(create: Create<'_>) -> Result<(), String> {
    let mut drive = Drive::new(create(), 4);
    drive.steps(300);
    for signal in [Signal::FastRetransmit, Signal::Timeout] {
        let state = |drive: &Drive| (drive.algorithm.cwnd(), drive.algorithm.ssthresh());
        let before = state(&drive);
        drive.congestion(signal);
        let cut = state(&drive);
        drive.algorithm.on_undo(&drive.context(), &Undo::new(signal, before.0, before.1));
        let undone = state(&drive);
        holds(undone == cut || undone.0 >= before.0 && undone.1 >= before.1, || {
            format!(
                "an undo leaves window and threshold at {undone:?} bytes; expected {before:?} or no change"
            )
        })?;
    }
    Ok(())
}

fn a_window_that_is_not_used_is_reduced_as_told_or_kept(create: Create<'_>) -> Result<(), String> {
    let mut drive = Drive::new(create(), 7);
    drive.steps(300);
    let before = drive.algorithm.cwnd();
    let window = (before / 2.0).max(MSS);
    let is_taken = drive.algorithm.on_unused_window(&drive.context(), &UnusedWindow::new(window));
    let (cwnd, ssthresh) = (drive.algorithm.cwnd(), drive.algorithm.ssthresh());
    let expected = if is_taken { window } else { before };
    holds(cwnd == expected && (!is_taken || ssthresh >= 0.75 * before), || {
        format!("an unused window of {before} bytes becomes {cwnd} with a threshold of {ssthresh}")
    })
}

fn a_copy_behaves_like_its_original(create: Create<'_>) -> Result<(), String> {
    let mut original = Drive::new(create(), 3);
    original.steps(500);
    let mut copy = original.clone();
    for _ in 0..500 {
        original.step();
        copy.step();
        let (cwnd, copied) = (original.algorithm.cwnd(), copy.algorithm.cwnd());
        holds(cwnd.to_bits() == copied.to_bits(), || {
            format!("after the same events, a copy has a window of {copied} bytes and its original of {cwnd}")
        })?;
    }
    Ok(())
}

fn the_same_events_give_the_same_windows(create: Create<'_>) -> Result<(), String> {
    let (mut one, mut other) = (Drive::new(create(), 8), Drive::new(create(), 8));
    for _ in 0..500 {
        one.step();
        other.step();
        let (cwnd, again) = (one.algorithm.cwnd(), other.algorithm.cwnd());
        holds(cwnd.to_bits() == again.to_bits(), || {
            format!(
                "the same events give windows of {cwnd} and {again} bytes; draw from the seed of the setup"
            )
        })?;
    }
    Ok(())
}
