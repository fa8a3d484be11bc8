//! Westwood+ [grieco2004 §2].
//!
//! Westwood with one bandwidth sample per round trip instead of one per ACK, so that compressed ACKs do not raise the
//! estimate, and with a filter of constant coefficients, $bw_k = 0.9 bw_(k - 1) + 0.1 b_k$ [grieco2004 equation (1)],
//! whose last term is printed as an estimate and is meant as the sample. A sample is the data delivered since the last
//! one, divided by the time since then.
//!
//! Where it departs from the paper: three duplicate ACKs never raise the window, which the paper's text would do after
//! too high an estimate; `only_reduce = false` follows the text. What the paper leaves open: the first ACK opens the
//! first interval, the first sample initializes the filter, the minimum round-trip time never expires, an interval
//! lasts at least the newest round-trip time, and a loss before the first sample halves the window as in Reno. In
//! Linux, samples are at least 50 ms apart: `minimum_interval` is this minimum, off by default.

use crate::bandwidth::{BandwidthWindow, Estimate};
use crate::probes::{BANDWIDTH, BASE_RTT};
use crate::{CongestionControl, ProbeInfo, Setup};
use dumbbell_units::{Time, choice, params};

choice! {
    /// The round-trip time that sets the length of a measurement interval.
    pub enum IntervalRtt {
        /// The newest sample.
        Newest = "newest",
        /// The smoothed RTT with gain 1/8, as for the retransmission timer.
        Smoothed = "smoothed",
    }
}

params! {
    /// Parameters of Westwood+.
    pub struct WestwoodPlusParams {
        /// Weight of the previous estimate in the filter.
        filter: f64 = 0.9, "-", "[grieco2004 equation (1)]",
            |filter| *filter >= 0.0 && *filter < 1.0, "a fraction, at least 0 and below 1";
        /// The round-trip time that sets the length of an interval.
        interval_rtt: IntervalRtt = IntervalRtt::Newest, "-", "[grieco2004 §2.2]";
        /// Shortest interval; 50 ms in Linux.
        minimum_interval: Time = Time::ZERO, "s", "[grieco2004 §2.2]";
        /// Never raise the window at three duplicate ACKs.
        only_reduce: bool = true, "-", "[grieco2004 §2.1]";
    }
}

/// The estimate from a sample per round trip.
#[derive(Clone, Debug)]
pub struct Averaged {
    params: WestwoodPlusParams,
    /// Length of an interval, in seconds, without its floor.
    rtt: Option<f64>,
    /// When the interval began; none before the first ACK.
    begun: Option<Time>,
    /// Bytes acknowledged in the interval.
    delivered: f64,
    /// Estimate, in bytes per second.
    bandwidth: Option<f64>,
}

impl Estimate for Averaged {
    fn on_rtt(&mut self, rtt: Time) {
        let rtt = rtt.secs();
        self.rtt = Some(match (self.params.interval_rtt, self.rtt) {
            (IntervalRtt::Smoothed, Some(smoothed)) => smoothed + (rtt - smoothed) / 8.0,
            _ => rtt,
        });
    }

    fn on_delivered(&mut self, bytes: f64, now: Time) {
        let Some(begun) = self.begun else {
            self.begun = Some(now);
            return;
        };
        self.delivered += bytes;
        let Some(rtt) = self.rtt else { return };
        let elapsed = now.since(begun).secs();
        if elapsed > 0.0 && elapsed >= rtt.max(self.params.minimum_interval.secs()) {
            let sample = self.delivered / elapsed;
            let filter = self.params.filter;
            self.bandwidth = Some(match self.bandwidth {
                Some(bandwidth) => filter * bandwidth + (1.0 - filter) * sample,
                None => sample,
            });
            self.begun = Some(now);
            self.delivered = 0.0;
        }
    }

    fn bandwidth(&self) -> Option<f64> {
        self.bandwidth
    }
}

/// The state of Westwood+.
pub type WestwoodPlus = BandwidthWindow<Averaged>;

impl CongestionControl for WestwoodPlus {
    type Params = WestwoodPlusParams;
    const SUMMARY: &'static str =
        "Westwood with one bandwidth sample per round trip, robust to ACK compression.";
    const SOURCE: &'static str = "[grieco2004 §2]";
    const RECOVERY: Option<&'static str> = Some("newreno");
    const TAKES_SLOW_START: bool = true;
    const PROBES: &'static [ProbeInfo] = &[BASE_RTT, BANDWIDTH];

    fn new(params: &WestwoodPlusParams, setup: &Setup) -> Self {
        let estimate =
            Averaged { params: params.clone(), rtt: None, begun: None, delivered: 0.0, bandwidth: None };
        BandwidthWindow::with(estimate, params.only_reduce, setup)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ack, Congestion, Context, Control, Signal};

    const MSS: f64 = 1000.0;

    struct Connection {
        westwood: WestwoodPlus,
        acked: u64,
    }

    impl Connection {
        fn new(params: &WestwoodPlusParams) -> Self {
            let setup = Setup::new(Time::ZERO, MSS, 3.0 * MSS);
            Connection { westwood: WestwoodPlus::new(params, &setup), acked: 0 }
        }

        fn context(&self, millis: u64) -> Context {
            Context::new(Time(millis * 1_000_000), MSS).with_sent(self.acked, self.acked + 40_000)
        }

        fn ack(&mut self, millis: u64, segments: u64, rtt_millis: u64) {
            let acked = segments * MSS as u64;
            let rtt = Some(Time(rtt_millis * 1_000_000));
            let ack = Ack::new(self.acked + acked, acked).with_rtt(rtt);
            self.westwood.on_ack(&self.context(millis), &ack);
            self.acked += acked;
        }
    }

    #[test]
    fn a_round_trip_gives_one_sample_and_the_filter_keeps_nine_tenths() {
        let mut connection = Connection::new(&WestwoodPlusParams::default());
        connection.ack(100, 1, 100);
        connection.ack(150, 2, 100);
        assert_eq!(connection.westwood.estimate.bandwidth, None);
        // From 100 to 200 ms: 2 + 2 segments in 0.1 s are 40 000 bytes/s, and initialize the filter.
        connection.ack(200, 2, 100);
        assert_eq!(connection.westwood.estimate.bandwidth, Some(40_000.0));
        // From 200 to 300 ms: a duplicate, and 2 segments of which it has signalled one: 20 000 bytes/s. 0.9 * 40 000 +
        // 0.1 * 20 000 = 38 000.
        connection.westwood.on_duplicate_ack(&connection.context(250), &Ack::new(connection.acked, 0));
        connection.ack(300, 2, 100);
        assert!((connection.westwood.estimate.bandwidth.expect("samples") - 38_000.0).abs() < 1e-6);
    }

    #[test]
    fn compressed_acks_give_one_sample_over_the_time_since_the_last() {
        let mut connection = Connection::new(&WestwoodPlusParams::default());
        connection.ack(100, 1, 100);
        // Ten segments within 9 ms after a pause of 100 ms: the first alone closes the interval, 1000 bytes / 0.1 s;
        // the other nine belong to the next, 10 000 bytes / 0.1 s.
        (200..210).for_each(|millis| connection.ack(millis, 1, 100));
        assert_eq!(connection.westwood.estimate.bandwidth, Some(10_000.0));
        connection.ack(300, 1, 100);
        // 0.9 * 10 000 + 0.1 * 100 000 = 19 000.
        assert!((connection.westwood.estimate.bandwidth.expect("samples") - 19_000.0).abs() < 1e-6);
    }

    #[test]
    fn the_floor_of_50_ms_holds_only_where_it_is_switched_on() {
        let bandwidth_after_20_ms = |minimum_interval| {
            let params = WestwoodPlusParams { minimum_interval, ..Default::default() };
            let mut connection = Connection::new(&params);
            connection.ack(20, 1, 20);
            connection.ack(40, 2, 20);
            let first = connection.westwood.estimate.bandwidth;
            connection.ack(70, 3, 20);
            (first, connection.westwood.estimate.bandwidth)
        };
        // 2000 bytes in 20 ms; then 3000 in 30 ms, the same rate.
        assert_eq!(bandwidth_after_20_ms(Time::ZERO), (Some(100_000.0), Some(100_000.0)));
        // 5000 bytes in the 50 ms from 20 to 70 ms.
        assert_eq!(bandwidth_after_20_ms(Time(50_000_000)), (None, Some(100_000.0)));
    }

    #[test]
    fn a_smoothed_interval_changes_by_an_eighth() {
        let params = WestwoodPlusParams { interval_rtt: IntervalRtt::Smoothed, ..Default::default() };
        let mut connection = Connection::new(&params);
        connection.ack(100, 1, 100);
        connection.ack(150, 1, 180);
        // 100 + (180 - 100) / 8 = 110 ms.
        assert!((connection.westwood.estimate.rtt.expect("a sample") - 0.110).abs() < 1e-12);
    }

    #[test]
    fn a_loss_sets_the_window_to_the_estimate_times_the_minimum_rtt() {
        let mut connection = Connection::new(&WestwoodPlusParams::default());
        connection.ack(100, 1, 100);
        connection.ack(250, 30, 150);
        // 30 000 bytes in 0.15 s are 200 000 bytes/s, times 0.1 s: 20 segments.
        let congestion = Congestion::new(Signal::Timeout);
        connection.westwood.on_congestion(&connection.context(250), &congestion);
        assert!((connection.westwood.ssthresh() - 20.0 * MSS).abs() < 1e-6);
        assert_eq!(connection.westwood.cwnd(), MSS);
    }
}
