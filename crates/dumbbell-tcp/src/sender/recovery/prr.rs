//! Proportional rate reduction [RFC 9937; RFC 6937 §3]: during a recovery, the window falls with what is delivered.
//!
//! After an ACK, the window is the data in the network plus what may be sent. While more than the threshold is in the
//! network, a fraction of what was delivered may be sent: the threshold over the window before the recovery. Below, as
//! much as was delivered, up to the threshold, and one segment more if the ACK acknowledges new data and shows no further
//! loss.
//!
//! RFC 6937 allows the further segment after every ACK (slow start reduction bound), or limits what is sent to what was
//! delivered (conservative reduction bound); both are choices. The fraction allowed is in whole segments, as in Linux.
//!
//! Where the recovery of RFC 6675 departs: the former window is the congestion window, as in Linux, not the data in flight,
//! and the ACK that begins the recovery counts as one segment.

use crate::config::recovery::PrrBound;
use crate::sender::access::Access;

/// The reduction of one recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    bound: PrrBound,
    /// Window or data in flight before the recovery, in bytes.
    prior: f64,
    /// Bytes delivered in the recovery.
    delivered: u64,
    /// Counters of the connection after the last ACK: bytes delivered and bytes lost.
    seen: (u64, u64),
    /// Bytes that the connection had sent when the recovery began.
    sent_before: u64,
    /// The window less the threshold, in bytes; zero outside recoveries.
    excess: f64,
}

/// What an ACK of a recovery says, in bytes.
#[derive(Clone, Copy)]
struct News {
    /// Newly delivered.
    delivered: u64,
    /// In the network after the ACK.
    in_network: f64,
    /// The ACK acknowledges new data and shows no further loss.
    is_safe: bool,
}

impl Default for Reduction {
    fn default() -> Self {
        Reduction {
            bound: PrrBound::Rfc9937,
            prior: 0.0,
            delivered: 0,
            seen: (0, 0),
            sent_before: 0,
            excess: 0.0,
        }
    }
}

impl Reduction {
    /// True if anything was sent since the reduction began (`prr_out`).
    pub(super) fn has_sent(&self, connection: &Access<'_>) -> bool {
        connection.sent_counted() > self.sent_before
    }

    /// So many bytes that were just sent do not count, as in Linux a probe that repeats a segment.
    pub(super) fn leave_out(&mut self, bytes: u64) {
        self.sent_before += bytes;
    }

    /// A recovery begins with an ACK that delivers a segment; the window before it was `prior`, and it is reduced now.
    pub(super) fn begin(connection: &mut Access<'_>, prior: f64) -> Reduction {
        let segment = u64::from(connection.mss()).min(connection.scoreboard().delivered_counted());
        Reduction::begin_with(connection, PrrBound::Rfc9937, prior, segment)
    }

    /// A recovery begins with an event that delivers so many bytes; `prior` is the window or the data in flight before it.
    /// The window is reduced now.
    pub(super) fn begin_with(
        connection: &mut Access<'_>,
        bound: PrrBound,
        prior: f64,
        delivered: u64,
    ) -> Reduction {
        let counters = (connection.scoreboard().delivered_counted(), connection.scoreboard().lost());
        let mut reduction =
            Reduction { bound, prior, sent_before: connection.sent_counted(), ..Reduction::default() };
        reduction.seen = (counters.0 - delivered, counters.1);
        reduction.take(connection, false);
        reduction
    }

    /// The same in Linux: with an ACK that may acknowledge new data and had `lost` bytes lost before it, or with the
    /// reordering timer, which counts a segment as delivered (`tcp_rack_reo_timeout`).
    pub(super) fn begin_linux(
        connection: &mut Access<'_>,
        bound: PrrBound,
        prior: f64,
        (delivered, lost): (u64, u64),
        is_advance: bool,
    ) -> Reduction {
        let mut reduction =
            Reduction { bound, prior, sent_before: connection.sent_counted(), ..Reduction::default() };
        let before = connection.scoreboard().delivered_counted().saturating_sub(delivered);
        reduction.seen = (before, lost);
        reduction.take(connection, is_advance);
        reduction
    }

    /// The reduction goes on in a recovery, with so many bytes delivered.
    pub(super) fn go_on(&mut self, connection: &mut Access<'_>, delivered: u64, is_advance: bool) {
        self.seen.0 = connection.scoreboard().delivered_counted().saturating_sub(delivered);
        if delivered > 0 {
            self.take(connection, is_advance);
        }
    }

    /// An ACK arrives, with so many bytes lost before it: what a timer has found lost is no loss that an ACK shows.
    pub(super) fn begin_ack(&mut self, lost: u64) {
        self.seen.1 = lost;
    }

    /// An ACK of the recovery arrived; `is_advance` if it acknowledges new data. Sets the window.
    pub(super) fn on_ack(&mut self, connection: &mut Access<'_>, is_advance: bool) {
        if connection.scoreboard().delivered_counted() > self.seen.0 {
            self.take(connection, is_advance);
        } else {
            self.seen.1 = connection.scoreboard().lost();
        }
    }

    fn take(&mut self, connection: &mut Access<'_>, is_advance: bool) {
        let counters = (connection.scoreboard().delivered_counted(), connection.scoreboard().lost());
        let news = News {
            delivered: counters.0 - self.seen.0,
            in_network: connection.scoreboard().pipe() as f64,
            is_safe: is_advance && counters.1 == self.seen.1,
        };
        self.seen = counters;
        let sent = connection.sent_counted() - self.sent_before;
        let ssthresh = connection.congestion().cwnd();
        let window = self.window(news, sent, ssthresh, f64::from(connection.mss()));
        self.excess = window - ssthresh;
        connection.duplicates_mut().inflation = self.excess;
    }

    /// The recovery ends: the window is the threshold.
    pub(super) fn end(&mut self, connection: &mut Access<'_>) {
        self.excess = 0.0;
        connection.duplicates_mut().inflation = 0.0;
    }

    /// The window less the threshold, in bytes. It is part of the window, not an addition for duplicate ACKs.
    pub(super) fn excess(&self) -> f64 {
        self.excess
    }

    /// The window after an ACK, in bytes; `sent` bytes were sent in the recovery.
    fn window(&mut self, news: News, sent: u64, ssthresh: f64, mss: f64) -> f64 {
        self.delivered += news.delivered;
        let (delivered, sent) = (self.delivered as f64, sent as f64);
        let mut may_send = if news.in_network > ssthresh {
            (delivered * ssthresh / (self.prior * mss)).ceil() * mss - sent
        } else {
            let limit = match self.bound {
                PrrBound::Conservative => delivered - sent,
                PrrBound::Rfc9937 | PrrBound::Off if !news.is_safe => {
                    (delivered - sent).max(news.delivered as f64)
                }
                _ => (delivered - sent).max(news.delivered as f64) + mss,
            };
            limit.min(ssthresh - news.in_network)
        };
        if sent == 0.0 {
            // The oldest segment is sent in any case.
            may_send = may_send.max(mss);
        }
        // Below a segment, only a timeout would go on.
        (news.in_network + may_send.max(0.0)).max(mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: f64 = 1000.0;

    fn reduction() -> Reduction {
        Reduction { prior: 20.0 * MSS, ..Reduction::default() }
    }

    #[test]
    fn half_of_what_is_delivered_is_sent_when_the_window_is_halved() {
        // 20 segments, the first lost, and 2 more by limited transmit: the third duplicate ACK leaves 18 in the network.
        // After it, n ACKs allow the next whole number of n / 2 segments.
        let (mut reduction, mut in_network, mut sent) = (reduction(), 18.0, 0);
        let mut step = || {
            let news = News { delivered: 1000, in_network: in_network * MSS, is_safe: false };
            let allowed = reduction.window(news, sent * 1000, 10.0 * MSS, MSS) / MSS - in_network;
            sent += allowed as u64;
            in_network += allowed - 1.0;
            allowed
        };
        let allowed: Vec<f64> = (0..8).map(|_| step()).collect();
        assert_eq!(allowed, [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn below_the_threshold_an_ack_without_further_loss_sends_one_segment_more() {
        let window = |in_network: f64, delivered, is_safe| {
            let news = News { delivered, in_network: in_network * MSS, is_safe };
            Reduction { delivered: 5000, ..reduction() }.window(news, 5000, 10.0 * MSS, MSS) / MSS
        };
        // 4 in the network and one delivered: 5, or 6 with progress. At most the threshold.
        assert_eq!((window(4.0, 1000, false), window(4.0, 1000, true)), (5.0, 6.0));
        assert_eq!(window(9.0, 3000, true), 10.0);
        // Of 12 segments sent in the network, 3 of 6 delivered were allowed: fewer than the 5 sent.
        assert_eq!(window(12.0, 1000, false), 12.0);
    }

    #[test]
    fn the_first_retransmission_is_always_allowed() {
        for bound in [PrrBound::Rfc9937, PrrBound::SlowStart, PrrBound::Conservative] {
            let window = |in_network: f64, sent| {
                let news = News { delivered: 0, in_network: in_network * MSS, is_safe: false };
                Reduction { bound, ..reduction() }.window(news, sent, 10.0 * MSS, MSS) / MSS
            };
            // Nothing was delivered, above the threshold and at it.
            assert_eq!([window(15.0, 0), window(15.0, 1000)], [16.0, 15.0], "{bound:?}");
            assert_eq!([window(10.0, 0), window(10.0, 1000)], [11.0, 10.0], "{bound:?}");
        }
    }
}
