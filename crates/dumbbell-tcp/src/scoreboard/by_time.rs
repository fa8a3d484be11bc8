//! Loss detection by time [RFC 8985 §6.2]: a segment is lost if one sent later was delivered and it was not, for the
//! round-trip time of that delivery and a reordering window.
//!
//! First transmissions are in the order of the scoreboard, and retransmissions are queued in the order in which they were
//! sent. So each is examined until its time has passed, and then never again.

use super::sent::Sent;
use dumbbell_units::Time;
use std::collections::VecDeque;

/// A retransmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resent {
    /// First byte after the segment.
    pub(super) end: u64,
    /// When it was sent.
    pub(super) sent_at: Time,
}

/// No transmission times.
const NONE: (Time, Time) = (Time::NEVER, Time::NEVER);

/// Adds a transmission time to those of the first and the last segment.
#[inline(always)]
fn add(times: &mut (Time, Time), sent_at: Time) {
    times.0 = if times.0 == Time::NEVER { sent_at } else { times.0 };
    times.1 = sent_at;
}

/// The time that an ACK echoes.
#[derive(Clone, Copy, Debug)]
pub struct Echo {
    /// The time.
    pub at: Time,
    /// When the clock of timestamps tells the next one.
    pub end: Time,
}

impl Echo {
    /// That of a clock that tells every nanosecond.
    pub fn exact(at: Time) -> Self {
        Echo { at, end: at + Time(1) }
    }
}

/// What deliveries say about the order and the time of transmissions.
#[derive(Clone, Debug)]
pub struct Deliveries {
    /// The transmission sent last among those delivered: its time and the end of its segment (`RACK.xmit_ts`,
    /// `RACK.end_seq`).
    newest: Option<(Time, u64)>,
    /// Round-trip time of the last delivery (`RACK.rtt`).
    rtt: Time,
    /// Minimum of these times of segments sent once, and of the handshake.
    min_rtt: Time,
    /// Highest byte delivered (`RACK.fack`), now and before this ACK.
    highest: u64,
    highest_before: u64,
    is_reordering_seen: bool,
    /// First byte of the lowest segment sent once that this ACK delivers out of order; the largest number if there is none.
    reordered: u64,
    /// Transmission times of the oldest and the newest segment that this ACK acknowledges and that gives a round-trip time,
    /// and of the lowest and the highest that it reports.
    acked: (Time, Time),
    sacked: (Time, Time),
    /// This ACK acknowledges a segment that was sent more than once.
    acknowledges_resent: bool,
    /// What time shows to be lost is not examined again, even if the reaction to it is undone.
    pub(super) examines_once: bool,
    /// Something was delivered since losses were last looked for, or a reaction was undone (`RACK.advanced` of Linux).
    is_advanced: bool,
    /// A retransmission was lost.
    pub(super) is_resent_lost: bool,
    /// Segments reported above the cumulative acknowledgement.
    reported: u64,
    /// When the newest transmission that this ACK delivers was sent, if it delivers any.
    newest_now: Option<Time>,
    /// Time echoed by this ACK, if there are timestamps.
    echo: Option<Echo>,
    /// Lowest end of the segments sent once that this ACK delivers.
    original: u64,
    /// This ACK delivers a segment that was sent more than once.
    includes_resent: bool,
    /// The first transmissions of so many segments from the oldest on need not be examined.
    pub(super) examined: usize,
    /// Retransmissions in the order of their transmission.
    pub(super) resent: VecDeque<Resent>,
}

impl Default for Deliveries {
    fn default() -> Self {
        Deliveries {
            newest: None,
            rtt: Time::ZERO,
            min_rtt: Time::NEVER,
            highest: 0,
            highest_before: 0,
            is_reordering_seen: false,
            reordered: u64::MAX,
            acked: NONE,
            sacked: NONE,
            acknowledges_resent: false,
            examines_once: false,
            is_advanced: false,
            is_resent_lost: false,
            reported: 0,
            newest_now: None,
            echo: None,
            original: u64::MAX,
            includes_resent: false,
            examined: 0,
            resent: VecDeque::new(),
        }
    }
}

impl Deliveries {
    /// The handshake took this long, or timestamps show it: a measurement like those of segments [RFC 8985 §5.2].
    pub(super) fn on_measured(&mut self, rtt: Time) {
        self.min_rtt = self.min_rtt.min(rtt);
    }

    /// An ACK arrived, which echoes this time if there are timestamps.
    #[inline]
    pub(super) fn begin_ack(&mut self, echo: Option<Echo>) {
        self.echo = echo;
        self.newest_now = None;
        self.original = u64::MAX;
        self.includes_resent = false;
        self.highest_before = self.highest;
        self.reordered = u64::MAX;
        self.acked.0 = Time::NEVER;
        self.sacked.0 = Time::NEVER;
        self.acknowledges_resent = false;
    }

    /// A segment was reported, for the first time if `is_news`.
    pub(super) fn on_reported(&mut self, sent: &Sent, is_news: bool, now: Time) {
        self.reported += 1;
        if is_news {
            if sent.transmissions == 1 {
                add(&mut self.sacked, sent.sent_at);
            }
            self.on_delivered(sent, now, self.echo.filter(|_| !self.examines_once));
        }
    }

    /// A segment was acknowledged, for the first time if `is_news`.
    #[inline]
    pub(super) fn on_acknowledged(&mut self, sent: &Sent, is_news: bool, now: Time) {
        self.examined = self.examined.saturating_sub(1);
        if sent.is_sacked() {
            self.reported -= 1;
        }
        self.acknowledges_resent |= sent.transmissions > 1;
        if is_news {
            if sent.transmissions == 1 {
                add(&mut self.acked, sent.sent_at);
            }
            self.on_delivered(sent, now, self.echo);
        }
    }

    /// All reports are cleared.
    pub(super) fn on_cleared(&mut self) {
        self.reported = 0;
        self.examined = 0;
    }

    /// A segment arrived. The time that the ACK echoes tells whether that was an earlier transmission; Linux looks at it
    /// for what is acknowledged, and not for what is reported (`tcp_skb_spurious_retrans`).
    fn on_delivered(&mut self, sent: &Sent, now: Time, echo: Option<Echo>) {
        self.newest_now = self.newest_now.max(Some(sent.sent_at));
        let (end, rtt) = (sent.end(), now.since(sent.sent_at));
        if sent.transmissions == 1 {
            self.min_rtt = self.min_rtt.min(rtt);
            self.original = self.original.min(end);
            if end < self.highest_before {
                self.is_reordering_seen = true;
                self.reordered = self.reordered.min(sent.seq);
            }
        } else {
            self.includes_resent = true;
        }
        self.highest = self.highest.max(end);
        let is_ambiguous = sent.transmissions > 1
            && (echo.is_some_and(|echo| echo.end <= sent.sent_at) || rtt < self.min_rtt);
        if !is_ambiguous {
            self.is_advanced = true;
            self.rtt = rtt;
            self.newest = self.newest.max(Some((sent.sent_at, end)));
        }
    }

    /// Reordering was seen although every segment that shows it was retransmitted.
    pub(crate) fn set_reordering_seen(&mut self) {
        self.is_reordering_seen = true;
    }

    /// The last ACK tells that a segment from this byte on was delivered out of order.
    pub(super) fn on_late(&mut self, seq: u64) {
        self.reordered = self.reordered.min(seq);
    }

    /// First byte of the lowest segment sent once that the last ACK delivered out of order, if there is one.
    pub(crate) fn reordered(&self) -> Option<u64> {
        (self.reordered < u64::MAX).then_some(self.reordered)
    }

    /// Highest byte delivered.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// Transmission times of the first and the last segment by which the last ACK measures the round-trip time, as in
    /// `tcp_clean_rtx_queue`: for the timeout the oldest acknowledged, or else the lowest reported; for the congestion
    /// control the highest reported, or else the newest acknowledged. None of them was retransmitted.
    pub(crate) fn timed(&self) -> Option<(Time, Time)> {
        let acked = if self.acknowledges_resent { NONE } else { self.acked };
        match (acked.0 < Time::NEVER, self.sacked.0 < Time::NEVER) {
            (false, false) => None,
            (true, false) => Some(acked),
            (false, true) => Some(self.sacked),
            (true, true) => Some((acked.0, self.sacked.1)),
        }
    }

    /// Transmission time of the lowest segment sent once that the last ACK reported, if there is one.
    pub(crate) fn lowest_reported(&self) -> Option<Time> {
        Some(self.sacked.0).filter(|first| *first < Time::NEVER)
    }

    /// A reaction was undone: losses are looked for with the next ACK.
    pub(crate) fn set_advanced(&mut self) {
        self.is_advanced = true;
    }

    /// True if there is a reason to look for losses since this was last asked.
    pub(crate) fn take_advanced(&mut self) -> bool {
        std::mem::take(&mut self.is_advanced)
    }

    /// True if a retransmission was found to be lost since this was last asked.
    pub(crate) fn take_resent_lost(&mut self) -> bool {
        std::mem::take(&mut self.is_resent_lost)
    }

    /// True if a segment sent once was delivered after one with higher sequence numbers.
    pub fn is_reordering_seen(&self) -> bool {
        self.is_reordering_seen
    }

    /// Segments reported above the cumulative acknowledgement.
    pub fn reported(&self) -> u64 {
        self.reported
    }

    /// Minimum round-trip time of segments sent once; zero before the first.
    pub fn min_rtt(&self) -> Time {
        if self.min_rtt == Time::NEVER { Time::ZERO } else { self.min_rtt }
    }

    /// Round-trip time of the last delivery.
    pub fn rtt(&self) -> Time {
        self.rtt
    }

    /// Lowest end of the segments sent once that the last ACK delivered; the largest number if there is none.
    pub fn original(&self) -> u64 {
        self.original
    }

    /// True if the last ACK delivered a segment that was sent more than once.
    pub fn includes_resent(&self) -> bool {
        self.includes_resent
    }

    /// Time that the last ACK echoes, if there are timestamps.
    pub fn echo(&self) -> Option<Time> {
        self.echo.map(|echo| echo.at)
    }

    /// When the newest transmission that the last ACK delivered was sent, if it delivered any.
    pub(crate) fn newest_now(&self) -> Option<Time> {
        self.newest_now
    }

    /// The newest transmission delivered: its time, and the end of its segment.
    pub(crate) fn newest(&self) -> Option<(Time, u64)> {
        self.newest
    }
}
