//! BBR version 3, as the working copy of draft-ietf-ccwg-bbr of 3 August 2026 specifies it [bbr2026].
//!
//! Rate and window follow from a model of the path, as in version 1, with bounds: the long-term bound of the data in
//! flight follows losses of bandwidth probes above 2 %, the short-term bounds of bandwidth and data in flight any loss in
//! between, and each probe starts with a round that fills the pipe. ProbeBW goes through DOWN, CRUISE, REFILL and UP;
//! probes are 2 to 3 s apart, or as many rounds as a Reno flow needs to grow to the same window.
//!
//! With `form = "kernel"`, it is the branch of the Linux kernel of 2023 [bbr2023] in what differs: the gains of Drain and
//! DOWN, no limit of rounds for Drain, two windows of five rounds for ACK aggregation, a pipe that may be seen to grow on
//! every ACK, the test for too much loss also on every ACK, and the bound that a timeout sets.
//!
//! Where it departs from the draft, or decides what the draft leaves open: each state sets its gains when it begins. The
//! window of ProbeRTT is half a BDP, as in the code of the draft, not the minimum window of its text. Bounds begin infinite,
//! rounds of losses with 0 bytes, and the minimum for ProbeRTT at the start. State is saved once per episode of losses: the
//! code saves it in each round with a loss, and would then restore what the episode itself has reduced. Losses count as
//! of a connection with selective acknowledgements. A restart from idle begins the interval of ACK aggregation with nothing
//! acknowledged, as in the kernel: the code moves only its beginning, and what was acknowledged before would count as an
//! aggregate after each pause. Segments leave one by one unless `bursts` is set; the window provides for the
//! draft's bursts in any case. The draft specifies no reaction to marks: packets are not ECN-capable, unless `ecn` is set,
//! which is the kernel's reaction.

mod bounds;
mod marks;
mod model;
mod output;
mod params;
mod states;
#[cfg(test)]
mod tests;

pub use params::{Bbr3Params, Form};

use crate::delivery::{Rounds, WindowedMax};
use crate::model::{Aggregation, Repair, follows_model};
use crate::probes::{BANDWIDTH, BASE_RTT, EXTRA_ACKED, MARKED_FRACTION, PACING_GAIN};
use crate::{
    Ack, Congestion, CongestionControl, Context, Control, LostSegment, ProbeInfo, RecoveryExit, Restart,
    SentSegment, Setup, Signal, Undo,
};
use bounds::Saved;
use dumbbell_units::math::{least, real};
use dumbbell_units::{Ecn, Stream, Time};
use marks::Marks;
use states::{AckPhase, State};

/// State of BBR version 3, with the number that its probe reports.
const STATE: ProbeInfo = ProbeInfo::new(
    "bbr3_state",
    "-",
    "State of BBRv3: 0 Startup, 1 Drain, 2 DOWN, 3 CRUISE, 4 REFILL, 5 UP, 6 ProbeRTT.",
);
const INFLIGHT_LONG: ProbeInfo = ProbeInfo::new(
    "inflight_longterm",
    "bytes",
    "Long-term bound of the data in flight; 0 while there is none.",
);
const INFLIGHT_SHORT: ProbeInfo = ProbeInfo::new(
    "inflight_shortterm",
    "bytes",
    "Short-term bound of the data in flight; 0 while there is none.",
);
const BW_SHORT: ProbeInfo =
    ProbeInfo::new("bw_shortterm", "bit/s", "Short-term bound of the bandwidth; 0 while there is none.");
const MAX_BW: ProbeInfo = ProbeInfo::new("max_bw", "bit/s", "Largest delivery rate of the last two probes.");

/// The state of BBR version 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    params: Box<Bbr3Params>,
    state: State,
    pacing_gain: f64,
    cwnd_gain: f64,
    cwnd: f64,
    pacing_rate: f64,
    ssthresh: f64,
    rounds: Rounds,
    is_round_start: bool,
    /// Largest rate of the previous and of the current cycle of probes.
    max_bw: [f64; 2],
    bandwidth: f64,
    bw_short: f64,
    inflight_short: f64,
    inflight_long: f64,
    min_rtt: f64,
    min_rtt_at: Time,
    probe_rtt_min: f64,
    probe_rtt_min_at: Time,
    is_probe_rtt_due: bool,
    probe_rtt_end: Option<Time>,
    has_probed_round: bool,
    full_bw: f64,
    full_count: u64,
    is_full_now: bool,
    is_full: bool,
    drain_start: u64,
    bw_latest: f64,
    inflight_latest: f64,
    loss_round_delivered: u64,
    is_loss_round_start: bool,
    has_loss_in_round: bool,
    /// Ranges lost in the round, and the end of the last.
    ranges: (u64, u64),
    /// Bytes lost since the connection began.
    lost: u64,
    ack_phase: AckPhase,
    is_probe_sample: bool,
    was_too_high: bool,
    was_precautionary: bool,
    cycle_at: Time,
    wait: Time,
    rounds_since_up: u64,
    up_rounds: u64,
    up_acked: f64,
    acked_per_step: f64,
    /// ACK aggregation, with the kernel's maximum of it.
    aggregation: Aggregation,
    /// The draft's maximum of ACK aggregation.
    extra: WindowedMax,
    has_rtt: bool,
    is_idle_restart: bool,
    repair: Repair,
    is_saved: bool,
    saved: Saved,
    marks: Marks,
    mss: f64,
    initial_window: f64,
    random: Stream,
}

impl Bbr3 {
    #[inline]
    fn is_kernel(&self) -> bool {
        self.params.form == Form::Kernel
    }

    fn update(&mut self, context: &Context, ack: &Ack) {
        let now = context.now;
        if self.repair.is_ended_by(ack.ack) {
            self.end_repair();
        }
        self.rounds.on_ack(context, ack);
        (self.is_round_start, self.is_loss_round_start) = (false, false);
        let mut sample = 0.0;
        if let Some(rate) = ack.rate {
            sample = rate.delivery_rate();
            let is_app_limited = rate.is_app_limited || self.rounds.was_limited(rate.prior_delivered);
            self.update_signals(rate, sample, is_app_limited);
            if self.params.ecn {
                self.update_marks(ack);
            }
            self.update_extra_acked(now, real(ack.delivered));
            self.update_full(sample, is_app_limited);
            if self.state == State::Startup {
                if !self.is_full {
                    self.check_startup_losses(rate);
                }
                if self.is_full {
                    self.enter(State::Drain);
                    self.drain_start = self.rounds.count;
                    self.ssthresh = self.inflight(self.max_bw(), context.mss);
                }
            }
            if self.is_loss_round_start {
                self.ranges.0 = 0;
            }
            if self.state == State::Drain {
                let is_over =
                    !self.is_kernel() && self.rounds.count > self.drain_start + self.params.drain_rounds;
                if is_over || ack.in_flight <= self.inflight(self.bandwidth, context.mss) {
                    self.enter_down(now);
                }
            }
            self.update_cycle(context, ack, rate, sample, is_app_limited);
        }
        self.update_min_rtt(now, ack);
        self.check_probe_rtt(context, ack);
        if self.is_loss_round_start {
            self.bw_latest = sample;
            self.inflight_latest = ack.rate.map_or(0.0, |rate| real(rate.delivered));
        }
        self.bandwidth = least(self.max_bw(), self.bw_short);
        if !self.has_rtt
            && let Some(srtt) = context.srtt().or(ack.rtt.map(Time::secs)).filter(|srtt| *srtt > 0.0)
        {
            self.has_rtt = true;
            self.pacing_rate = self.params.startup_gain * self.initial_window / srtt;
        }
        self.set_pacing_rate(self.pacing_gain);
        self.set_cwnd(context, real(ack.delivered));
    }
}

impl CongestionControl for Bbr3 {
    type Params = Bbr3Params;
    const SUMMARY: &'static str =
        "BBR version 3: version 1 with bounds that follow losses, and bandwidth probes of a limited loss.";
    const SOURCE: &'static str = "[bbr2026]";
    const RECOVERY: Option<&'static str> = Some("rack");
    const PROBES: &'static [ProbeInfo] = &[
        STATE,
        BANDWIDTH,
        BASE_RTT,
        PACING_GAIN,
        EXTRA_ACKED,
        MAX_BW,
        BW_SHORT,
        INFLIGHT_SHORT,
        INFLIGHT_LONG,
        MARKED_FRACTION,
    ];

    fn new(params: &Bbr3Params, setup: &Setup) -> Self {
        Bbr3 {
            params: Box::new(params.clone()),
            state: State::Startup,
            pacing_gain: params.startup_gain,
            cwnd_gain: params.cwnd_gain,
            cwnd: setup.initial_window,
            pacing_rate: params.startup_gain * setup.initial_window / 0.001,
            ssthresh: f64::INFINITY,
            rounds: Rounds::default(),
            is_round_start: false,
            max_bw: [0.0; 2],
            bandwidth: 0.0,
            bw_short: f64::INFINITY,
            inflight_short: f64::INFINITY,
            inflight_long: f64::INFINITY,
            min_rtt: f64::INFINITY,
            min_rtt_at: setup.now,
            probe_rtt_min: f64::INFINITY,
            probe_rtt_min_at: setup.now,
            is_probe_rtt_due: false,
            probe_rtt_end: None,
            has_probed_round: false,
            full_bw: 0.0,
            full_count: 0,
            is_full_now: false,
            is_full: false,
            drain_start: 0,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            loss_round_delivered: 0,
            is_loss_round_start: false,
            has_loss_in_round: false,
            ranges: (0, 0),
            lost: 0,
            ack_phase: AckPhase::Init,
            is_probe_sample: false,
            was_too_high: false,
            was_precautionary: false,
            cycle_at: setup.now,
            wait: Time::ZERO,
            rounds_since_up: 0,
            up_rounds: 0,
            up_acked: 0.0,
            acked_per_step: f64::INFINITY,
            aggregation: Aggregation::new(setup.now),
            extra: WindowedMax::default(),
            has_rtt: false,
            is_idle_restart: false,
            repair: Repair::default(),
            is_saved: false,
            saved: Saved::NOTHING,
            marks: Marks::NONE,
            mss: setup.mss,
            initial_window: setup.initial_window,
            random: setup.random.clone(),
        }
    }
}

impl Control for Bbr3 {
    follows_model!();

    fn on_initial_window(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
    }

    fn on_sent(&mut self, context: &Context, _sent: &SentSegment) {
        if context.flight_size == 0.0 && context.is_app_limited {
            self.restart_from_idle(context.now);
        }
    }

    fn send_quantum(&self) -> Option<f64> {
        self.params.bursts.then(|| self.burst(self.mss))
    }

    fn ecn_codepoint(&self) -> Ecn {
        if self.params.ecn { Ecn::Ect0 } else { Ecn::NotEct }
    }

    fn reacts_to_marks(&self) -> bool {
        true
    }

    fn on_loss(&mut self, context: &Context, lost: &LostSegment) {
        self.note_loss(context, lost);
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        match congestion.signal {
            Signal::EcnEcho => {}
            Signal::FastRetransmit => {
                self.save_state();
                self.repair.begin_recovery();
            }
            Signal::Restart | Signal::Timeout => {
                self.save_state();
                self.repair.begin_timeout(context.snd_nxt);
                if self.is_kernel() && !self.state.probes() && self.inflight_short.is_infinite() {
                    self.inflight_short = self.repair.restored(self.cwnd);
                }
                self.cwnd = context.loss_window;
            }
        }
    }

    fn on_undo(&mut self, _context: &Context, undo: &Undo) {
        self.restore(undo);
    }

    fn on_recovery_exit(&mut self, _context: &Context, _exit: &RecoveryExit) {
        self.end_repair();
    }

    fn on_restart(&mut self, context: &Context, _restart: &Restart) {
        self.restart_from_idle(context.now);
        if self.state == State::ProbeRtt {
            self.leave_probe_rtt(context.now);
        }
    }

    fn probe(&self, index: usize) -> Option<f64> {
        let bound = |value: f64| if value.is_finite() { value } else { 0.0 };
        match index {
            0 => Some(self.state as u8 as f64),
            1 => Some(self.bandwidth * 8.0),
            2 => Some(self.min_rtt).filter(|rtt| rtt.is_finite()),
            3 => Some(self.pacing_gain),
            4 => Some(self.extra_acked()),
            5 => Some(self.max_bw() * 8.0),
            6 => Some(bound(self.bw_short * 8.0)),
            7 => Some(bound(self.inflight_short)),
            8 => Some(bound(self.inflight_long)),
            9 => Some(if self.params.ecn { self.marks.alpha } else { 0.0 }),
            _ => None,
        }
    }
}
