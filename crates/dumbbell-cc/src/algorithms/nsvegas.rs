//! Vegas as in ns-3 [ns3 tcp-vegas.cc], which is derived from the Linux module.
//!
//! It counts in whole segments: `base_rtt / rtt_min` of the window, rounded down, would suffice to keep the link busy,
//! and the rest is queued. A round ends with the acknowledgement of all data sent before it began; a round of at most
//! two samples ends with a step of Reno instead of a check. Slow start doubles every round trip. A loss keeps the
//! threshold, at least one segment below the window, and every check keeps it at three quarters of the window or more.
//! Rounds restart after a recovery. After a timeout, the window grows as in Reno until all data sent before it is
//! acknowledged.
//!
//! Where it departs: duplicate ACKs are no samples (in ns-3, they count the last one again, which restarted rounds
//! discard). Retransmitted data does not end a round early.

use crate::delay::RoundTrips;
use crate::probes::{BASE_RTT, VEGAS_DIFF};
use crate::toolbox::RenoWindow;
use crate::{
    Ack, Congestion, CongestionControl, Context, Control, ProbeInfo, RecoveryExit, Setup, window_in,
};
use dumbbell_units::params;

params! {
    /// Parameters of Vegas as in ns-3.
    pub struct NsVegasParams {
        /// Grow while fewer segments than this are queued.
        alpha: u64 = 2, "segments", "[ns3 tcp-vegas.cc]";
        /// Shrink while more segments than this are queued.
        beta: u64 = 4, "segments", "[ns3 tcp-vegas.cc]";
        /// Leave slow start when more segments than this are queued.
        gamma: u64 = 1, "segments", "[ns3 tcp-vegas.cc]";
    }
}

/// The state of Vegas as in ns-3.
#[derive(Clone, Debug)]
pub struct NsVegas {
    params: NsVegasParams,
    window: RenoWindow,
    rtts: RoundTrips,
    /// First byte not sent before the last timeout, until all data before it is acknowledged.
    repair_end: Option<u64>,
    queued: Option<f64>,
}

impl NsVegas {
    fn is_below_ssthresh(&self) -> bool {
        self.window.rules().in_slow_start(self.window.cwnd, self.window.ssthresh)
    }

    fn grow(&mut self, bytes: f64, context: &Context) {
        self.window.cwnd = context.grown(self.window.cwnd, bytes);
    }

    /// The threshold, at least one segment below the window, and at least two segments.
    fn kept_threshold(&self, mss: f64) -> f64 {
        self.window.ssthresh.min(self.window.cwnd - mss).max(2.0 * mss)
    }

    fn check(&mut self, context: &Context) {
        let mss = context.mss;
        let window = (self.window.cwnd / mss).floor();
        let target = (window * (self.rtts.base / self.rtts.minimum)).floor();
        let queued = window - target;
        self.queued = Some(queued);
        let NsVegasParams { alpha, beta, gamma } = self.params;
        if self.is_below_ssthresh() {
            if queued > gamma as f64 {
                self.window.cwnd = window.min(target + 1.0).max(1.0) * mss;
                self.window.ssthresh = self.kept_threshold(mss);
            } else {
                self.grow(mss, context);
            }
        } else if queued > beta as f64 {
            self.window.cwnd = (window - 1.0).max(2.0) * mss;
            self.window.ssthresh = self.kept_threshold(mss);
        } else if queued < alpha as f64 {
            self.window.cwnd = window * mss;
            self.grow(mss, context);
        }
        self.window.ssthresh = self.window.ssthresh.max((0.75 * self.window.cwnd).floor());
    }
}

impl CongestionControl for NsVegas {
    type Params = NsVegasParams;
    const SUMMARY: &'static str =
        "Vegas as in ns-3: whole segments, with the rounds and thresholds of Linux.";
    const SOURCE: &'static str = "[ns3 tcp-vegas.cc]";
    const RECOVERY: Option<&'static str> = Some("sack");
    const PROBES: &'static [ProbeInfo] = &[BASE_RTT, VEGAS_DIFF];

    fn new(params: &NsVegasParams, setup: &Setup) -> Self {
        NsVegas {
            params: params.clone(),
            window: RenoWindow::new(setup),
            rtts: RoundTrips::default(),
            repair_end: None,
            queued: None,
        }
    }

    fn contradiction(params: &NsVegasParams) -> Option<(&'static str, &'static str)> {
        (params.alpha > params.beta).then_some(("alpha", "at most beta"))
    }
}

impl Control for NsVegas {
    window_in!(window);

    fn on_ack(&mut self, context: &Context, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtts.on_sample(rtt.secs());
        }
        if ack.in_recovery {
            return;
        }
        let snd_nxt = context.snd_nxt.max(ack.ack);
        match self.repair_end {
            Some(end) if ack.ack < end => self.window.increase(context, ack),
            Some(_) => {
                self.repair_end = None;
                self.rtts.begin_round(snd_nxt);
            }
            None if ack.ack >= self.rtts.end => {
                if self.rtts.has_enough() {
                    self.check(context);
                } else {
                    self.window.increase(context, ack);
                }
                self.rtts.begin_round(snd_nxt);
            }
            None if self.is_below_ssthresh() => self.window.increase(context, ack),
            None => {}
        }
    }

    fn on_congestion(&mut self, context: &Context, congestion: &Congestion) {
        let kept = self.kept_threshold(context.mss);
        self.window.reduce(kept, kept, context, congestion);
        if congestion.signal.restarts() {
            self.repair_end = Some(context.snd_nxt.max(self.repair_end.unwrap_or(0)));
        }
    }

    fn on_recovery_exit(&mut self, context: &Context, exit: &RecoveryExit) {
        self.window.on_recovery_exit(context, exit);
        self.rtts.begin_round(context.snd_nxt);
    }

    fn probe(&self, index: usize) -> Option<f64> {
        *[self.rtts.base_rtt(), self.queued].get(index)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::algorithms::newvegas::tests::{MSS, context, setup};
    use dumbbell_units::Time;

    struct Connection {
        vegas: NsVegas,
        una: u64,
        nxt: u64,
    }

    impl Connection {
        /// A window of 20 segments, all of them sent, and a threshold of two.
        fn new() -> Self {
            let vegas = NsVegas::new(&NsVegasParams::default(), &setup());
            Connection { vegas, una: 0, nxt: 20_000 }
        }

        fn context(&self) -> Context {
            Context { snd_una: self.una, snd_nxt: self.nxt, ..context(self.vegas.cwnd()) }
        }

        /// Acknowledges segment by segment, `milliseconds` after transmission, and sends new segments.
        fn acknowledge(&mut self, segments: u64, milliseconds: u64) -> (f64, f64) {
            for _ in 0..segments {
                let context = self.context();
                self.una += MSS as u64;
                let rtt = Some(Time(milliseconds * 1_000_000));
                self.vegas.on_ack(&context, &Ack::new(self.una, MSS as u64).with_rtt(rtt));
                self.nxt = self.nxt.max(self.una + self.vegas.cwnd() as u64);
            }
            (self.vegas.cwnd() / MSS, self.vegas.ssthresh() / MSS)
        }

        fn lose(&mut self, signal: Signal) -> (f64, f64) {
            let context = self.context();
            self.vegas.on_congestion(&context, &Congestion::new(signal));
            (self.vegas.cwnd() / MSS, self.vegas.ssthresh() / MSS)
        }
    }

    #[test]
    fn a_round_ends_with_earlier_data_and_is_checked_in_whole_segments() {
        let mut connection = Connection::new();
        // The first acknowledgement is a round of one sample: Reno's growth, a twentieth of a segment.
        let (window, _) = connection.acknowledge(1, 100);
        assert_eq!(window, 20.05);
        // The next nineteen were sent before. Of 20 whole segments, none is queued.
        assert_eq!(connection.acknowledge(18, 100).0, 20.05);
        assert_eq!(connection.acknowledge(1, 100), (21.0, 15.75));
        // 21 segments: 17.5 would suffice, so 4 are queued, which does not exceed beta.
        assert_eq!(connection.acknowledge(20, 120), (21.0, 15.75));
        // 16.8 would suffice: 5 are queued.
        assert_eq!(connection.acknowledge(21, 125), (20.0, 15.75));
    }

    #[test]
    fn a_loss_keeps_the_threshold_and_a_timeout_grows_as_reno_until_repaired() {
        let mut connection = Connection::new();
        connection.acknowledge(20, 100);
        assert_eq!(connection.lose(Signal::FastRetransmit), (15.75, 15.75));
        assert_eq!(connection.lose(Signal::FastRetransmit), (14.75, 14.75));
        let sent = connection.nxt - connection.una;
        assert_eq!(connection.lose(Signal::Timeout), (1.0, 13.75));
        // Slow start passes the threshold, and then an acknowledgement adds a fraction of a segment.
        assert_eq!(connection.acknowledge(13, 100), (14.0, 13.75));
        let (window, threshold) = connection.acknowledge(sent / 1000 - 13, 100);
        assert!(window > 14.0 && window < 15.0, "{window}");
        assert_eq!(threshold, 13.75);
    }
}
