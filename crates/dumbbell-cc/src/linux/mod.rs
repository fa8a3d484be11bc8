//! Congestion controls as modules of Linux have them, where they differ from the papers in more than constants: in whole
//! numbers, by its states, and with what it counts for each acknowledgement [linux6 net/ipv4]. An algorithm has such a form
//! if its parameter `form` says so.
//!
//! A module sees an acknowledgement twice: [`Control::on_sample`](crate::Control::on_sample) is its `pkts_acked`, and
//! [`Control::on_ack`](crate::Control::on_ack) its `cong_avoid`, which is not called while the window falls.

pub mod bbr;
pub mod bic;
pub mod highspeed;
pub mod htcp;
pub mod hybla;
pub mod illinois;
pub mod rounds;
pub mod veno;
pub mod yeah;

use crate::setup::Reports;
use crate::toolbox::RenoWindow;
use crate::{Ack, Congestion, Context, Sample, SenderState, Setup, Signal};
use dumbbell_units::{Time, choice};

choice! {
    /// Whose rules an algorithm follows.
    pub enum Form {
        /// Those of its paper, with the parameters that are given.
        Paper = "paper",
        /// Those of the module of Linux, in whole numbers.
        Linux = "linux",
    }
}

/// A module of Linux.
pub(crate) trait Module {
    /// Required: `cong_avoid`, which is not called in a recovery. See [`Control::on_ack`](crate::Control::on_ack).
    fn on_ack(&mut self, window: &mut RenoWindow, context: &Context, ack: &Ack);

    /// Required: `ssthresh`. See [`Control::on_congestion`](crate::Control::on_congestion).
    fn on_congestion(&mut self, window: &mut RenoWindow, context: &Context, congestion: &Congestion);

    /// Optional: `init`. See [`Control::on_open`](crate::Control::on_open).
    fn on_open(&mut self, _window: &mut RenoWindow, _context: &Context) {}

    /// Optional: `pkts_acked`. See [`Control::on_sample`](crate::Control::on_sample).
    fn on_sample(&mut self, _window: &RenoWindow, _context: &Context, _sample: &Sample) {}

    /// Optional: `set_state`. See [`Control::on_state`](crate::Control::on_state).
    fn on_state(&mut self, _context: &Context, _state: SenderState) {}

    /// Optional: `undo_cwnd`. See [`Control::on_undo`](crate::Control::on_undo).
    fn on_undo(&mut self) {}
}

/// A module in a connection. Where the sender reports neither samples nor states, because its timer or its recovery is not
/// that of Linux, acknowledgements and congestion events stand for them; the repair after a timeout is then the state Open.
#[derive(Clone, Debug)]
pub(crate) struct Attached<M> {
    pub(crate) module: M,
    reports: Reports,
}

impl<M: Module> Attached<M> {
    pub(crate) fn new(module: M, setup: &Setup) -> Self {
        Attached { module, reports: setup.reports }
    }

    pub(crate) fn on_ack(&mut self, window: &mut RenoWindow, context: &Context, ack: &Ack) {
        if !self.reports.samples {
            let segments = (ack.acked as f64 / context.mss).ceil() as u64;
            self.module.on_sample(window, context, &Sample::new(ack.rtt).with_segments(segments));
        }
        if !ack.in_recovery {
            self.module.on_ack(window, context, ack);
        }
    }

    pub(crate) fn on_congestion(
        &mut self,
        window: &mut RenoWindow,
        context: &Context,
        congestion: &Congestion,
    ) {
        self.module.on_congestion(window, context, congestion);
        self.assume(context, congestion.signal);
    }

    pub(crate) fn on_repeated_timeout(
        &mut self,
        window: &mut RenoWindow,
        context: &Context,
        congestion: &Congestion,
    ) {
        window.restart(context, congestion);
        self.assume(context, congestion.signal);
    }

    pub(crate) fn on_recovery_exit(&mut self, context: &Context) {
        if !self.reports.states {
            self.module.on_state(context, SenderState::Open);
        }
    }

    fn assume(&mut self, context: &Context, signal: Signal) {
        if self.reports.states {
            return;
        }
        let state = match signal {
            Signal::FastRetransmit => SenderState::Recovery,
            Signal::EcnEcho => SenderState::Cwr,
            Signal::Restart | Signal::Timeout => SenderState::Loss,
        };
        self.module.on_state(context, state);
        if signal != Signal::FastRetransmit {
            self.module.on_state(context, SenderState::Open);
        }
    }
}

/// The hooks that only a module has, for an algorithm with the fields `window` and `module`.
macro_rules! module_hooks {
    () => {
        fn on_open(&mut self, context: &$crate::Context) {
            if let Some(attached) = &mut self.module {
                attached.module.on_open(&mut self.window, context);
            }
        }

        fn on_sample(&mut self, context: &$crate::Context, sample: &$crate::Sample) {
            if let Some(attached) = &mut self.module {
                attached.module.on_sample(&self.window, context, sample);
            }
        }

        fn on_state(&mut self, context: &$crate::Context, state: $crate::SenderState) {
            if let Some(attached) = &mut self.module {
                attached.module.on_state(context, state);
            }
        }
    };
}

/// The end of a recovery and a repeated timeout for such an algorithm, which is otherwise as all others.
macro_rules! module_repairs {
    () => {
        fn on_recovery_exit(&mut self, context: &$crate::Context, exit: &$crate::RecoveryExit) {
            if let Some(attached) = &mut self.module {
                attached.on_recovery_exit(context);
            }
            self.window.on_recovery_exit(context, exit);
        }

        fn on_repeated_timeout(&mut self, context: &$crate::Context, congestion: &$crate::Congestion) {
            match &mut self.module {
                Some(attached) => attached.on_repeated_timeout(&mut self.window, context, congestion),
                None => self.window.cwnd = context.loss_window,
            }
        }
    };
}

pub(crate) use {module_hooks, module_repairs};

/// A parameter in whole numbers, at most so large that a product of two fits.
pub(crate) fn whole(parameter: f64) -> u64 {
    parameter.clamp(0.0, 1e9) as u64
}

/// The least window that a loss leaves, in segments.
const LEAST: u64 = 2;

/// What a module sees and changes: a window in whole segments.
pub(crate) struct Segments<'a> {
    window: &'a mut RenoWindow,
    mss: f64,
    /// Largest window to which it grows, in bytes.
    most: f64,
    /// True if the window limits the sender (`tcp_is_cwnd_limited`).
    pub(crate) is_limiting: bool,
}

impl<'a> Segments<'a> {
    pub(crate) fn of(window: &'a mut RenoWindow, context: &Context) -> Self {
        let is_limiting = window.cwnd < context.growth_limit;
        let most = context.growth_limit.max(window.cwnd);
        Segments { window, mss: context.mss, most, is_limiting }
    }

    /// The window.
    pub(crate) fn cwnd(&self) -> u64 {
        (self.window.cwnd / self.mss) as u64
    }

    /// The window becomes this many segments.
    pub(crate) fn set(&mut self, cwnd: u64) {
        self.window.cwnd = (cwnd as f64 * self.mss).min(self.most);
    }

    /// The window grows by this many segments.
    pub(crate) fn add(&mut self, segments: u64) {
        self.window.cwnd = (self.window.cwnd + segments as f64 * self.mss).min(self.most);
    }

    /// What is counted for the next segment (`snd_cwnd_cnt`).
    pub(crate) fn counted(&mut self) -> u64 {
        *self.window.counted() as u64
    }

    /// The count becomes this.
    pub(crate) fn set_counted(&mut self, counted: u64) {
        *self.window.counted() = counted as f64;
    }

    /// A segment for each `count` of what is counted and these additions (`tcp_cong_avoid_ai`).
    pub(crate) fn grow(&mut self, additions: u64, count: u64) {
        let mut counted = self.counted();
        if counted >= count {
            counted = 0;
            self.add(1);
        }
        counted += additions;
        self.add(counted / count);
        self.set_counted(counted % count);
    }

    /// Reno's growth above the threshold.
    pub(crate) fn grow_as_reno(&mut self, additions: u64) {
        self.grow(additions, self.cwnd().max(1));
    }
}

/// A loss leaves this many segments, at least two.
pub(crate) fn reduce(window: &mut RenoWindow, segments: u64, context: &Context, congestion: &Congestion) {
    let bytes = segments.max(LEAST) as f64 * context.mss;
    window.reduce(bytes, bytes, context, congestion);
}

/// The window that a loss reduces, in whole segments.
pub(crate) fn before_loss(window: &RenoWindow, context: &Context) -> u64 {
    ((window.cwnd + context.inflation) / context.mss).max(0.0) as u64
}

/// A round-trip time that ends now in microseconds, as the difference of two times in microseconds.
pub(crate) fn micros(now: Time, rtt: Time) -> u64 {
    now.0 / 1000 - now.since(rtt).0 / 1000
}

/// Ticks of a clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    tick: u64,
}

impl Clock {
    pub(crate) fn new(tick: Time) -> Self {
        Clock { tick: tick.0.max(1) }
    }

    /// The time in ticks (`jiffies`).
    pub(crate) fn at(self, now: Time) -> u64 {
        now.0 / self.tick
    }

    /// A duration in ticks, rounded up (`msecs_to_jiffies`).
    pub(crate) fn of(self, time: Time) -> u64 {
        time.0.div_ceil(self.tick)
    }

    /// Ticks in a second (`HZ`).
    pub(crate) fn per_second(self) -> u64 {
        1_000_000_000 / self.tick
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::algorithms::newvegas::tests::MSS;
    use crate::toolbox::RenoWindow;
    use crate::{GrowPer, Growth, ReductionBase, Setup, WindowRules};
    use dumbbell_units::Time;

    /// What a congestion control of Linux begins with: window and threshold in segments.
    pub(crate) fn setup(segments: f64, ssthresh: f64) -> Setup {
        let rules = WindowRules {
            growth: Growth::Segments,
            grow_per: GrowPer::Segment,
            reduction_base: ReductionBase::WholeWindow,
            ..WindowRules::default()
        };
        Setup::new(Time::ZERO, MSS, segments * MSS).with_initial_ssthresh(ssthresh * MSS).with_rules(rules)
    }

    /// The window of such a setup.
    pub(crate) fn window(segments: f64, ssthresh: f64) -> RenoWindow {
        RenoWindow::new(&setup(segments, ssthresh))
    }

    #[test]
    fn a_parameter_is_a_whole_number_whose_products_have_64_bits() {
        assert_eq!((super::whole(0.5), super::whole(16.9), super::whole(1e300)), (0, 16, 1_000_000_000));
    }
}
