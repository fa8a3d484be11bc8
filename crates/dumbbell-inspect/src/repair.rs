//! Why a segment was sent again.

use dumbbell_units::Time;

/// Without a sample, a round-trip time is taken to be this long.
const UNKNOWN_RTT: Time = Time(200_000_000);
/// The shortest time that Linux adds to the round-trip time before a timer expires is 200 ms (`TCP_RTO_MIN`).
const TIMER_MARGIN: Time = Time(150_000_000);
/// Duplicate acknowledgements that cause a fast retransmission [RFC 5681 §3.2].
const ENOUGH_DUPLICATES: u64 = 3;

/// Why a segment was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Its bytes are new.
    #[default]
    New,
    /// Acknowledgements told that it was lost, or a recovery that they began goes on [RFC 5681 §3.2, RFC 6675, RFC 8985].
    Fast,
    /// The end of the data was sent again to get an acknowledgement [RFC 8985 §7].
    Probe,
    /// The retransmission timer expired, or the recovery goes on that it began [RFC 6298 §5].
    Timeout,
    /// Nothing of this is seen.
    Other,
    /// It was overtaken on the way to where it was seen.
    OutOfOrder,
}

impl Kind {
    /// Its name in tables; empty for new data.
    pub fn name(self) -> &'static str {
        match self {
            Kind::New => "",
            Kind::Fast => "fast",
            Kind::Probe => "probe",
            Kind::Timeout => "timeout",
            Kind::Other => "other",
            Kind::OutOfOrder => "out of order",
        }
    }
}

/// What is known when a segment is sent again.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// Its first byte and the byte after its last one.
    pub bytes: (i64, i64),
    /// The first byte that is not acknowledged.
    pub snd_una: i64,
    /// The byte after the last one sent.
    pub snd_max: i64,
    /// The byte after the last one that a selective acknowledgement reported.
    pub highest_sacked: i64,
    /// Duplicate acknowledgements since the last new one.
    pub duplicates: u64,
    /// Both ends use selective acknowledgements.
    pub has_sack: bool,
    /// For how long neither data nor an acknowledgement was seen.
    pub silence: Time,
    /// Smoothed round-trip time, if there is one.
    pub srtt: Option<Time>,
}

impl Circumstances {
    /// A timer of the sender has expired: it waited for longer than acknowledgements take. Probes are sent after two
    /// round-trip times, timeouts after one and the margin of the timer.
    fn is_after_timer(&self) -> bool {
        let srtt = self.srtt.unwrap_or(UNKNOWN_RTT);
        self.silence >= Time(srtt.0 / 2 * 3).min(srtt + TIMER_MARGIN)
    }

    /// Acknowledgements told that something was lost.
    fn is_reported(&self) -> bool {
        self.highest_sacked > self.bytes.0 || self.duplicates >= ENOUGH_DUPLICATES
    }
}

/// The repair of losses by one sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Repair {
    /// The repair ends when all bytes before this one are acknowledged; with what began it.
    until: Option<(i64, Kind)>,
    /// The end was sent again since the last new acknowledgement.
    has_probed: bool,
    /// Expirations of the retransmission timer, and recoveries that acknowledgements began.
    pub timeouts: u64,
    /// Recoveries that acknowledgements began.
    pub fast_retransmits: u64,
}

impl Repair {
    /// A repair is in progress.
    pub fn is_active(&self) -> bool {
        self.until.is_some()
    }

    /// New data is acknowledged, up to this byte.
    pub fn on_ack(&mut self, snd_una: i64) {
        self.has_probed = false;
        if self.until.is_some_and(|(until, _)| snd_una >= until) {
            self.until = None;
        }
    }

    /// Something is sent again. Returns why.
    pub fn on_retransmission(&mut self, seen: &Circumstances) -> Kind {
        let (start, end) = seen.bytes;
        if seen.is_after_timer() {
            let is_end = end >= seen.snd_max;
            if is_end && seen.has_sack && !self.has_probed && self.until.is_none() {
                self.has_probed = true;
                return Kind::Probe;
            }
            if start <= seen.snd_una {
                self.timeouts += 1;
                self.until = Some((seen.snd_max, Kind::Timeout));
                return Kind::Timeout;
            }
        }
        if let Some((_, kind)) = self.until {
            return kind;
        }
        if seen.is_reported() {
            self.fast_retransmits += 1;
            self.until = Some((seen.snd_max, Kind::Fast));
            return Kind::Fast;
        }
        Kind::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Circumstances {
        Circumstances {
            bytes: (1000, 2000),
            snd_una: 1000,
            snd_max: 9000,
            highest_sacked: 0,
            duplicates: 0,
            has_sack: true,
            silence: Time(0),
            srtt: Some(Time(100_000_000)),
        }
    }

    #[test]
    fn three_duplicates_or_a_selective_acknowledgement_beyond_make_it_fast() {
        assert_eq!(
            Repair::default().on_retransmission(&Circumstances { duplicates: 2, ..seen() }),
            Kind::Other
        );
        assert_eq!(
            Repair::default().on_retransmission(&Circumstances { duplicates: 3, ..seen() }),
            Kind::Fast
        );
        let reported = Circumstances { highest_sacked: 1001, ..seen() };
        assert_eq!(Repair::default().on_retransmission(&reported), Kind::Fast);
    }

    #[test]
    fn the_first_byte_after_silence_is_a_timeout_and_what_follows_belongs_to_it() {
        let mut repair = Repair::default();
        let late = Circumstances { silence: Time(150_000_000), ..seen() };
        assert_eq!(repair.on_retransmission(&late), Kind::Timeout);
        repair.on_ack(2000);
        let next = Circumstances { bytes: (2000, 3000), snd_una: 2000, ..seen() };
        assert_eq!(repair.on_retransmission(&next), Kind::Timeout);
        repair.on_ack(9000);
        assert!(!repair.is_active());
        assert_eq!((repair.timeouts, repair.fast_retransmits), (1, 0));
    }

    #[test]
    fn the_end_after_silence_is_a_probe_once_and_only_with_sack() {
        let end = Circumstances { bytes: (8000, 9000), silence: Time(200_000_000), snd_una: 8000, ..seen() };
        let mut repair = Repair::default();
        assert_eq!(repair.on_retransmission(&end), Kind::Probe);
        assert_eq!(repair.on_retransmission(&end), Kind::Timeout);
        let without = Circumstances { has_sack: false, ..end };
        assert_eq!(Repair::default().on_retransmission(&without), Kind::Timeout);
    }
}
