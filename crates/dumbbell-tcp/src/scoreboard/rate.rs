//! Delivery-rate samples: the rate of delivery between the transmission of a segment and its acknowledgement
//! (draft-ietf-ccwg-bbr, "Delivery Rate Samples"; Linux `tcp_rate.c`).
//!
//! A sample belongs to the newest segment that an ACK delivers, cumulatively or by a report. Its interval is the
//! longer of the send and the acknowledgement interval, so that neither a burst of segments nor a burst of ACKs
//! raises the rate.
//!
//! Where it departs from the draft: a flight begins when nothing is outstanding, as in Linux, not when nothing is in
//! flight. After a timeout that was spurious, everything counts as lost, and then arrives at once: a flight that began
//! in between would have delivered it in no time.

use dumbbell_cc::{LostSegment, RateSample};
use dumbbell_units::math::real;
use dumbbell_units::{Time, prefetch, prefetch_ends};
use std::collections::VecDeque;

/// The state of delivery when a segment was last sent, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Transmission {
    sent_at: Time,
    first_sent_at: Time,
    delivered_at: Time,
    delivered: u64,
    lost: u64,
    marked: u64,
    /// Bytes in flight, including the segment.
    in_flight: u64,
    is_app_limited: bool,
    is_retransmission: bool,
    /// Already counted as delivered.
    is_delivered: bool,
}

/// The transmissions of outstanding segments, and the totals of the connection.
#[derive(Clone, Debug)]
pub struct DeliveryRate {
    /// In the order of the scoreboard.
    transmissions: VecDeque<Transmission>,
    delivered: u64,
    delivered_at: Time,
    /// When the oldest segment of the current sample's flight was sent.
    first_sent_at: Time,
    lost: u64,
    marked: u64,
    /// Samples are application-limited until this many bytes are delivered; 0 if they are not.
    app_limited_until: u64,
    /// The newest transmission delivered by the current ACK.
    newest: Option<Transmission>,
    /// The sample of the last ACK.
    sample: Option<RateSample>,
    /// The minimum round-trip time in seconds, and as a duration.
    min_rtt: (f64, Time),
    /// Samples are not for the congestion control.
    is_observed: bool,
    /// Times are whole microseconds, as in Linux.
    counts_micros: bool,
}

/// A time in whole microseconds.
fn whole_micros(time: Time) -> Time {
    Time(time.0 / 1000 * 1000)
}

impl DeliveryRate {
    /// A connection that starts at `now`.
    pub fn new(now: Time) -> Self {
        DeliveryRate {
            transmissions: VecDeque::new(),
            delivered: 0,
            delivered_at: now,
            first_sent_at: now,
            lost: 0,
            marked: 0,
            app_limited_until: 0,
            newest: None,
            sample: None,
            min_rtt: (f64::INFINITY, Time::ZERO),
            is_observed: false,
            counts_micros: false,
        }
    }

    /// Samples have the times of Linux: differences of whole microseconds (`tcp_rate_gen`).
    pub fn count_micros(&mut self) {
        self.counts_micros = true;
    }

    /// True if what is sent now counts as limited by the application; `None` if the congestion control gets no samples.
    pub fn is_app_limited(&self) -> Option<bool> {
        (!self.is_observed).then_some(self.app_limited_until > 0)
    }

    /// The same with samples that the congestion control does not get.
    pub fn observed(now: Time) -> Self {
        DeliveryRate { is_observed: true, ..DeliveryRate::new(now) }
    }

    fn transmission(&self, now: Time, in_flight: u64, is_retransmission: bool) -> Transmission {
        Transmission {
            sent_at: now,
            first_sent_at: self.first_sent_at,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            lost: self.lost,
            marked: self.marked,
            in_flight,
            is_app_limited: self.app_limited_until > 0,
            is_retransmission,
            is_delivered: false,
        }
    }

    /// A segment was sent for the first time, with so many bytes in flight after it.
    pub fn on_sent(&mut self, now: Time, in_flight: u64) {
        if self.transmissions.is_empty() {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let transmission = self.transmission(now, in_flight, false);
        self.transmissions.push_back(transmission);
    }

    /// So many bytes arrived once more.
    pub fn count_duplicate(&mut self, bytes: u64) {
        self.delivered += bytes;
    }

    /// The segment at an index counted from the oldest was retransmitted.
    pub fn on_resent(&mut self, index: usize, now: Time, in_flight: u64) {
        let transmission = self.transmission(now, in_flight, true);
        if let Some(known) = self.transmissions.get_mut(index) {
            let is_delivered = known.is_delivered;
            *known = Transmission { is_delivered, ..transmission };
        }
    }

    /// `bytes` of the segment at an index are delivered, unless they already were.
    pub fn on_delivered(&mut self, index: usize, bytes: u64, now: Time) {
        let Some(known) = self.transmissions.get_mut(index).filter(|known| !known.is_delivered) else {
            return;
        };
        // Copied before the write: a load that overlaps a store in part waits until the store has left the processor.
        let transmission = *known;
        known.is_delivered = true;
        self.credit(&transmission, bytes, now);
    }

    /// `bytes` of this transmission are delivered for the first time.
    #[inline(always)]
    fn credit(&mut self, transmission: &Transmission, bytes: u64, now: Time) {
        self.delivered += bytes;
        self.delivered_at = now;
        if self.newest.as_ref().is_none_or(|newest| newest.sent_at <= transmission.sent_at) {
            self.newest = Some(*transmission);
            self.first_sent_at = transmission.sent_at;
        }
    }

    /// `bytes` at the beginning of the oldest segment are delivered.
    pub fn on_partly_delivered(&mut self, bytes: u64, now: Time) {
        self.delivered += bytes;
        self.delivered_at = now;
    }

    /// The oldest segment is acknowledged and removed.
    pub fn on_acknowledged(&mut self, bytes: u64, now: Time) {
        if let Some(acknowledged) = self.transmissions.pop_front()
            && !acknowledged.is_delivered
        {
            self.credit(&acknowledged, bytes, now);
        }
    }

    /// Prefetches what an acknowledgement or a new segment needs, and a report of the segment at an index.
    #[inline]
    pub fn prefetch(&self, reported: usize) {
        prefetch_ends(&self.transmissions);
        // If the segment there is lost, the report is of the next one.
        self.transmissions.range(reported.min(self.transmissions.len())..).take(2).for_each(prefetch);
        prefetch(&self.sample);
        prefetch(&self.newest);
        prefetch(&self.min_rtt);
    }

    /// The segment at an index is considered lost. Returns it with the totals at its last transmission.
    pub fn on_lost(&mut self, index: usize, segment: LostSegment) -> LostSegment {
        self.lost += u64::from(segment.bytes);
        let Some(sent) = self.transmissions.get(index) else { return segment };
        segment
            .with_delivered(sent.delivered)
            .with_lost(sent.lost)
            .with_tx_in_flight(real(sent.in_flight))
            .with_app_limited(sent.is_app_limited)
    }

    /// The application limits the sender, with this many bytes in flight.
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    /// Marks of this many bytes were echoed since the connection began.
    pub fn on_marked(&mut self, marked: u64) {
        self.marked = marked;
    }

    /// The sample of the processed ACK, if it delivered anything. Its interval is at least the minimum round-trip
    /// time, in seconds and infinite before the first.
    #[inline]
    pub fn take_sample(&mut self, rtt: Option<Time>, min_rtt: f64) -> Option<&RateSample> {
        if min_rtt != self.min_rtt.0 {
            self.min_rtt = (min_rtt, if min_rtt.is_finite() { Time::from_secs(min_rtt) } else { Time::ZERO });
        }
        self.sample = self.newest_sample(rtt, self.min_rtt.1);
        self.sample.as_ref()
    }

    /// The last sample for the congestion control, if any.
    pub fn sample(&self) -> Option<&RateSample> {
        if self.is_observed { None } else { self.sample.as_ref() }
    }

    /// The last sample, if any.
    pub fn latest(&self) -> Option<&RateSample> {
        self.sample.as_ref()
    }

    fn newest_sample(&mut self, rtt: Option<Time>, min_rtt: Time) -> Option<RateSample> {
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let newest = self.newest.take()?;
        let elapsed = |from: Time, until: Time| {
            if self.counts_micros { whole_micros(until).since(whole_micros(from)) } else { until.since(from) }
        };
        let send_elapsed = elapsed(newest.first_sent_at, newest.sent_at);
        let ack_elapsed = elapsed(newest.delivered_at, self.delivered_at);
        let min_rtt = if self.counts_micros { whole_micros(min_rtt) } else { min_rtt };
        let interval = send_elapsed.max(ack_elapsed);
        if interval < min_rtt || interval == Time::ZERO {
            return None;
        }
        Some(
            RateSample::new(self.delivered - newest.delivered, interval)
                .with_send_elapsed(send_elapsed)
                .with_ack_elapsed(ack_elapsed)
                .with_prior_delivered(newest.delivered)
                .with_prior_time(newest.delivered_at)
                .with_lost(self.lost - newest.lost)
                .with_marked(self.marked - newest.marked)
                .with_tx_in_flight(real(newest.in_flight))
                .with_rtt(rtt)
                .with_app_limited(newest.is_app_limited)
                .with_retransmission(newest.is_retransmission),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_interval_is_the_longer_of_send_and_ack_interval() {
        // Segments of 1,000 bytes leave at 0, 10 and 20 ms and are acknowledged 100 ms later each.
        let mut rate = DeliveryRate::new(Time::ZERO);
        for (number, at) in [0, 10, 20].into_iter().enumerate() {
            rate.on_sent(Time(at * MS), 1_000 * (number as u64 + 1));
        }
        // The first: 1,000 bytes in the 100 ms since it was sent.
        rate.on_acknowledged(1_000, Time(100 * MS));
        let sample = rate.take_sample(None, f64::INFINITY).unwrap();
        assert_eq!((sample.delivered, sample.interval), (1_000, Time(100 * MS)));
        // A fourth leaves now: 1,000 bytes are delivered, and the newest of them was sent at 0.
        rate.on_sent(Time(100 * MS), 3_000);
        rate.on_acknowledged(1_000, Time(110 * MS));
        rate.on_acknowledged(1_000, Time(120 * MS));
        // The third, acknowledged together with the second: 3,000 bytes in 120 ms; sending took 20 ms.
        let sample = rate.take_sample(None, f64::INFINITY).unwrap();
        assert_eq!(
            (sample.delivered, sample.interval, sample.send_elapsed),
            (3_000, Time(120 * MS), Time(20 * MS))
        );
        assert!((sample.delivery_rate() - 25_000.0).abs() < 1e-6);
        // The fourth: 3,000 bytes since 1,000 were delivered at 100 ms, and sending them took from 0 to 100 ms.
        rate.on_acknowledged(1_000, Time(200 * MS));
        let sample = rate.take_sample(None, f64::INFINITY).unwrap();
        assert_eq!((sample.delivered, sample.prior_delivered), (3_000, 1_000));
        assert_eq!((sample.send_elapsed, sample.ack_elapsed), (Time(100 * MS), Time(100 * MS)));
        assert!((sample.delivery_rate() - 30_000.0).abs() < 1e-6);
    }

    #[test]
    fn in_linux_an_interval_is_a_difference_of_whole_microseconds() {
        let interval = |counts_micros: bool, min_rtt: f64| {
            let mut rate = DeliveryRate::new(Time::ZERO);
            rate.counts_micros = counts_micros;
            rate.on_sent(Time(1_999), 1_000);
            rate.on_acknowledged(1_000, Time(52_001));
            rate.take_sample(None, min_rtt).map(|sample| sample.interval.0)
        };
        // From 1.999 to 52.001 us: 50.002 us, or from 1 to 52.
        assert_eq!([interval(false, 0.0), interval(true, 0.0)], [Some(50_002), Some(51_000)]);
        // As long as a minimum of 51.9 us, which is 51 there.
        assert_eq!([interval(false, 51.9e-6), interval(true, 51.9e-6)], [None, Some(51_000)]);
    }

    #[test]
    fn a_report_delivers_once_and_a_retransmission_is_a_separate_transmission() {
        let mut rate = DeliveryRate::new(Time::ZERO);
        (0..3).for_each(|number| rate.on_sent(Time(number * MS), 1_000 * (number + 1)));
        // The third is reported at 50 ms; the first is considered lost and retransmitted.
        rate.on_delivered(2, 1_000, Time(50 * MS));
        assert_eq!(rate.take_sample(None, f64::INFINITY).unwrap().delivered, 1_000);
        rate.on_lost(0, LostSegment::new(0, 1_000, Time::ZERO));
        rate.on_resent(0, Time(50 * MS), 2_000);
        // One ACK of all three at 100 ms: 2,000 bytes are new, in the 50 ms since the retransmission.
        (0..3).for_each(|_| rate.on_acknowledged(1_000, Time(100 * MS)));
        let sample = rate.take_sample(None, f64::INFINITY).unwrap();
        assert_eq!((sample.delivered, sample.interval, sample.lost), (2_000, Time(50 * MS), 0));
        assert!(sample.is_retransmission);
        assert_eq!((rate.delivered, rate.lost), (3_000, 1_000));
        assert_eq!(rate.take_sample(None, f64::INFINITY), None);
    }

    #[test]
    fn what_counted_as_lost_and_arrives_at_once_is_delivered_since_it_was_sent() {
        let mut rate = DeliveryRate::new(Time::ZERO);
        (1..=4).for_each(|number| rate.on_sent(Time::ZERO, 1_000 * number));
        // A timeout at 500 ms: all count as lost, and the first is sent again. All four arrive at 600 ms, and new data.
        for index in 0..4 {
            rate.on_lost(index, LostSegment::new(0, 1_000, Time::ZERO));
        }
        rate.on_resent(0, Time(500 * MS), 1_000);
        rate.on_acknowledged(1_000, Time(600 * MS));
        let sample = rate.take_sample(None, f64::INFINITY).unwrap();
        assert_eq!((sample.delivered, sample.interval), (1_000, Time(600 * MS)));
        rate.on_sent(Time(600 * MS), 1_000);
        (0..3).for_each(|_| rate.on_acknowledged(1_000, Time(600 * MS)));
        rate.take_sample(None, f64::INFINITY);
        // That of the new segment: 4,000 bytes in 100 ms to its acknowledgement, 100 ms from the segment sent again.
        rate.on_acknowledged(1_000, Time(700 * MS));
        let sample = rate.take_sample(None, f64::INFINITY).unwrap();
        assert_eq!((sample.delivered, sample.send_elapsed), (4_000, Time(100 * MS)));
    }

    #[test]
    fn a_sample_counts_the_marks_since_its_segment_was_sent() {
        let mut rate = DeliveryRate::new(Time::ZERO);
        rate.on_sent(Time::ZERO, 1_000);
        rate.on_marked(500);
        rate.on_sent(Time(MS), 2_000);
        rate.on_marked(1_500);
        rate.on_acknowledged(1_000, Time(100 * MS));
        assert_eq!(rate.take_sample(None, f64::INFINITY).unwrap().marked, 1_500);
        rate.on_marked(2_500);
        rate.on_acknowledged(1_000, Time(101 * MS));
        assert_eq!(rate.take_sample(None, f64::INFINITY).unwrap().marked, 2_000);
    }

    #[test]
    fn samples_are_application_limited_until_the_data_in_flight_is_delivered() {
        let mut rate = DeliveryRate::new(Time::ZERO);
        rate.on_sent(Time::ZERO, 1_000);
        rate.on_app_limited(1_000);
        rate.on_sent(Time(MS), 2_000);
        rate.on_acknowledged(1_000, Time(100 * MS));
        assert!(!rate.take_sample(None, f64::INFINITY).unwrap().is_app_limited);
        rate.on_acknowledged(1_000, Time(101 * MS));
        assert!(rate.take_sample(None, f64::INFINITY).unwrap().is_app_limited);
        rate.on_sent(Time(102 * MS), 1_000);
        rate.on_acknowledged(1_000, Time(202 * MS));
        assert!(!rate.take_sample(None, f64::INFINITY).unwrap().is_app_limited);
        // No sample over less than the minimum round-trip time.
        rate.on_sent(Time(203 * MS), 1_000);
        rate.on_acknowledged(1_000, Time(204 * MS));
        assert_eq!(rate.take_sample(None, 0.1), None);
    }
}
