//! The loss recoveries that a scenario names: a closed set, with the parameters and the fixed properties of each. What a
//! recovery does is in the sender.

use dumbbell_units::spec::Params;
use dumbbell_units::{Time, choice, params, tagged};

/// What holds for every connection with a recovery, whatever its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Properties {
    /// The receiver sends SACK blocks [RFC 2018].
    pub uses_sack: bool,
    /// It derives the data in the network from a scoreboard of these reports.
    pub keeps_scoreboard: bool,
    /// Letters of the Vegas mechanisms that it implements.
    pub mechanisms: &'static str,
    /// It leaves the threshold unchanged when the window is reduced by a quarter.
    pub defers_threshold: bool,
    /// It continues to time a retransmitted segment.
    pub times_resent: bool,
    /// The first two duplicate ACKs stop all transmissions except retransmissions.
    pub stops_on_duplicates: bool,
    /// Losses are detected by the time of transmissions [RFC 8985]. The recovery is then told of every delivery and
    /// always polled, and a timeout resends only what is lost.
    pub detects_by_time: bool,
}

impl Properties {
    const NONE: Properties = Properties {
        uses_sack: false,
        keeps_scoreboard: false,
        mechanisms: "",
        defers_threshold: false,
        times_resent: false,
        stops_on_duplicates: false,
        detects_by_time: false,
    };
}

/// The parameters of a recovery.
pub(crate) trait RecoveryRules: Params {
    /// What they do not change.
    const PROPERTIES: Properties;
}

/// Hands the set of recoveries to a macro: summary, name, type of the state and type of the parameters of each.
macro_rules! recoveries {
    ($make:ident) => {
        $make! {
            /// Three duplicate ACKs restart from the loss window [jacobson1988 §3].
            "tahoe" => Tahoe(TahoeRules),
            /// Fast recovery that ends with the first new ACK [RFC 2001 §4].
            "reno" => Reno(RenoRules),
            /// Fast recovery that repairs one hole per round trip [RFC 6582 §3.2].
            "newreno" => NewReno(NewRenoRules),
            /// Recovery from a scoreboard of selective acknowledgements [RFC 6675 §5].
            "sack" => Rfc6675(SackRules),
            /// Recovery with selective acknowledgements that counts segments in the network, as ns-2's Sack1 does
            /// [fall1996 §4].
            "ns2sack" => Ns2Sack(Ns2SackRules),
            /// Reno's recovery with the fine timeouts of Vegas as in ns-2, including the faults of its code.
            "ns2vegas" => Ns2Vegas(Ns2VegasRules),
            /// Detection of losses by time, with probes for the loss of the last segments [RFC 8985].
            "rack" => Rack(RackRules),
            /// Recovery from a scoreboard in which a partial ACK may release a segment immediately, as in ns-3.
            "ns3sack" => Ns3Sack(Ns3SackRules),
        }
    };
}
pub(crate) use recoveries;

macro_rules! spec {
    ($( $(#[doc = $doc:literal])+ $name:literal => $Type:ident($Rules:ident), )+) => {
        tagged! {
            /// How lost segments are repaired, with the parameters of the recovery.
            pub enum RecoverySpec by "kind" {
                $( $(#[doc = $doc])+ $Type($Rules) = $name, )+
            }
        }

        impl RecoverySpec {
            /// What holds whatever its parameters.
            pub fn properties(&self) -> Properties {
                match self { $( RecoverySpec::$Type(_) => <$Rules as RecoveryRules>::PROPERTIES, )+ }
            }
        }
    };
}

recoveries!(spec);

impl RecoverySpec {
    /// True if the receiver reports data that arrived twice [RFC 2883].
    pub fn reports_duplicates(&self) -> bool {
        matches!(self, RecoverySpec::Rack(rules) if rules.dsack)
    }
}

impl RecoverySpec {
    /// True if losses are detected with the state machine of Linux.
    pub(crate) fn is_of_linux(&self) -> bool {
        matches!(self, RecoverySpec::Rack(rules) if rules.form == RackForm::Linux)
    }
}

impl Default for RecoverySpec {
    /// RACK-TLP [RFC 8985].
    fn default() -> Self {
        RecoverySpec::Rack(Default::default())
    }
}

params! {
    /// Parameters of Tahoe's recovery.
    pub struct TahoeRules {
        /// No fast retransmit on duplicate ACKs of data retransmitted after a timeout.
        careful_variant: bool = true, "-", "[RFC 2582 §5]";
        /// A timeout does not reset the count of duplicate ACKs: later ones release no segments.
        timeout_keeps_duplicates: bool = false, "-", "[RFC 3042 §2]";
    }
}

impl RecoveryRules for TahoeRules {
    const PROPERTIES: Properties = Properties::NONE;
}

params! {
    /// Parameters of Reno's recovery.
    pub struct RenoRules {
        /// No fast retransmit on duplicate ACKs of data retransmitted after a timeout.
        careful_variant: bool = true, "-", "[RFC 2582 §5]";
        /// At most one fast retransmit per window of data: none until data sent after the last one is acknowledged.
        retransmit_once: bool = false, "-", "[fall1996 §3]";
        /// Deflate the window also when recovery ends with exactly three duplicate ACKs.
        deflation_fix: bool = true, "-", "[brakmo1995b §4]";
        /// Maximum number of segments per ACK during recovery; 0 for no limit.
        max_burst: u64 = 0, "segments", "[floyd1999 §3]";
        /// Mechanism D checks the second new ACK even if the first check found nothing.
        check_both: bool = false, "-", "[brakmo1995 §3.1]";
        /// The two new ACKs after a retransmission by mechanism D are checked as those after a fast retransmit.
        check_again: bool = false, "-", "[brakmo1995 §3.1]";
        /// An ACK of retransmitted data gives the fine timeout a round-trip time: that of the newest segment it covers, if
        /// this was sent once.
        time_repairs: bool = true, "-", "[karn1987]";
    }
}

impl RecoveryRules for RenoRules {
    const PROPERTIES: Properties = Properties { mechanisms: "CDE", ..Properties::NONE };
}

choice! {
    /// Effect of a partial acknowledgement on the retransmission timer [RFC 6582 §4].
    pub enum PartialAck {
        /// The timer restarts at the first partial acknowledgement only.
        Impatient = "impatient",
        /// The timer restarts at every partial acknowledgement.
        SlowButSteady = "slow-but-steady",
    }
}

choice! {
    /// Effect of a partial acknowledgement on the inflation of the window.
    pub enum Deflation {
        /// Deducts the acknowledged bytes, less one segment [RFC 6582 §3.2 step 3].
        Partial = "partial",
        /// Ends the inflation.
        Full = "full",
        /// Deducts the acknowledged bytes; what exceeds the inflation is deducted from the window until the recovery
        /// ends.
        Lasting = "lasting",
    }
}

params! {
    /// Parameters of NewReno's recovery.
    pub struct NewRenoRules {
        /// Effect of a partial acknowledgement on the retransmission timer.
        partial_ack: PartialAck = PartialAck::Impatient, "-", "[RFC 6582 §4]";
        /// Effect of a partial acknowledgement on the inflation of the window.
        deflation: Deflation = Deflation::Partial, "-", "[RFC 6582 §3.2]";
        /// Maximum number of segments per ACK during recovery; 0 for no limit.
        max_burst: u64 = 0, "segments", "[floyd1999 §3]";
    }
}

impl RecoveryRules for NewRenoRules {
    const PROPERTIES: Properties = Properties::NONE;
}

params! {
    /// Parameters of the recovery with selective acknowledgements.
    pub struct SackRules {
        /// Retransmit the newest segment, once per recovery, when nothing else may be sent.
        rescue: bool = true, "-", "[RFC 6675 §4]";
        /// Reduce the window in proportion to what is delivered, instead of at once.
        prr: bool = false, "-", "[RFC 6937 §3]";
        /// Maximum number of segments per ACK during recovery; 0 for no limit.
        max_burst: u64 = 0, "segments", "[floyd1999 §3]";
    }
}

impl RecoveryRules for SackRules {
    const PROPERTIES: Properties = Properties { uses_sack: true, keeps_scoreboard: true, ..Properties::NONE };
}

params! {
    /// The recovery of ns-2's Sack1 has no parameters of its own.
    pub struct Ns2SackRules {}
}

impl RecoveryRules for Ns2SackRules {
    const PROPERTIES: Properties = Properties { uses_sack: true, times_resent: true, ..Properties::NONE };
}

params! {
    /// Parameters of the recovery of ns-2's Vegas.
    pub struct Ns2VegasRules {
        /// Mechanism D checks the second new ACK even if the first check found nothing.
        check_both: bool = false, "-", "[brakmo1995 §3.1]";
    }
}

impl RecoveryRules for Ns2VegasRules {
    const PROPERTIES: Properties = Properties {
        mechanisms: "CDE",
        defers_threshold: true,
        times_resent: true,
        stops_on_duplicates: true,
        ..Properties::NONE
    };
}

choice! {
    /// How the window is reduced during a recovery.
    pub enum PrrBound {
        /// Below the threshold, a segment more than was delivered if the ACK acknowledges new data and shows no loss.
        Rfc9937 = "rfc9937",
        /// Below the threshold, a segment more than was delivered (slow start reduction bound of RFC 6937).
        SlowStart = "ssrb",
        /// Below the threshold, as much as was delivered (conservative reduction bound of RFC 6937).
        Conservative = "crb",
        /// At once.
        Off = "off",
    }
}

choice! {
    /// How a spurious timeout is detected without timestamps.
    pub enum Frto {
        /// Not at all.
        Off = "off",
        /// After two segments of new data (RFC 5682 §3.1), unless a recovery was in progress.
        Rfc5682 = "rfc5682",
        /// At once when data arrives that was sent once; also after repeated timeouts.
        Linux = "linux",
    }
}

choice! {
    /// The quantity before a recovery to which proportional rate reduction compares what is delivered.
    pub enum PrrBase {
        /// The data in flight: with the bound of RFC 9937, without what was reported before; with those of RFC 6937,
        /// without what limited transmit sent.
        Flight = "flight",
        /// The congestion window, as in Linux.
        Window = "window",
    }
}

choice! {
    /// The state machine around the detection of losses by time.
    pub enum RackForm {
        /// That of the RFCs.
        Rfc = "rfc8985",
        /// That of Linux: `tcp_fastretrans_alert` and what it calls.
        Linux = "linux",
    }
}

params! {
    /// Parameters of the detection of losses by time.
    pub struct RackRules {
        /// When recoveries begin and end, what undoes them, and what the timers wait for, where no other parameter says it.
        form: RackForm = RackForm::Rfc, "-", "[RFC 8985 §6; linux6 tcp_input.c]";
        /// Reduction of the window during a recovery.
        prr: PrrBound = PrrBound::Rfc9937, "-", "[RFC 9937 §6]";
        /// What the reduction compares with what is delivered.
        prr_base: PrrBase = PrrBase::Flight, "-", "[RFC 9937 §6]";
        /// Reported segments above which nothing is considered reordered, as long as no reordering was seen; 0 for none.
        dup_thresh: u64 = 3, "segments", "[RFC 8985 §6.2]";
        /// Largest multiple of a quarter of the minimum round-trip time in the reordering window; 0 for no limit.
        reo_wnd_mult_max: u64 = 0, "-", "[RFC 8985 §6.2]";
        /// Recoveries without a duplicate report after which the multiple is 1 again.
        reo_wnd_persist: u64 = 16, "-", "[RFC 8985 §6.2]", |n| *n >= 1, "at least 1";
        /// Added to the wait for a segment that may be reordered.
        reo_timer_slack: Time = Time(0), "s", "[linux6 tcp_recovery.c]";
        /// Clock of this timer, which rounds the wait up to whole ticks and then expires with the next tick; 0 for an
        /// exact timer.
        reo_timer_tick: Time = Time(0), "s", "[linux6 kernel/time/timer.c]";
        /// The receiver reports data that arrived twice, which widens the reordering window.
        dsack: bool = true, "-", "[RFC 2883 §4]";
        /// Such a report counts only once reordering was seen.
        dsack_after_reordering: bool = false, "-", "[linux6 tcp_recovery.c]";
        /// Probe for the loss of the last segments.
        tlp: bool = true, "-", "[RFC 8985 §7]";
        /// Added to the two round-trip times before a probe.
        pto_slack: Time = Time(0), "s", "[linux6 tcp_output.c]";
        /// Added instead if a single segment is in flight.
        max_ack_delay: Time = Time(200_000_000), "s", "[RFC 8985 §7.2]";
        /// A timeout considers everything lost, not only what is old enough.
        rto_marks_all: bool = false, "-", "[RFC 8985 §6.3]";
        /// Undo a reaction if everything that was retransmitted arrived twice, or by the times echoed if there are
        /// timestamps.
        undo: bool = true, "-", "[RFC 3708; RFC 3522]";
        /// Detection of spurious timeouts by new data.
        frto: Frto = Frto::Rfc5682, "-", "[RFC 5682 §3.1]";
    }
}

impl RecoveryRules for RackRules {
    const PROPERTIES: Properties =
        Properties { uses_sack: true, keeps_scoreboard: true, detects_by_time: true, ..Properties::NONE };
}

params! {
    /// ns-3's recovery has no parameters of its own.
    pub struct Ns3SackRules {}
}

impl RecoveryRules for Ns3SackRules {
    const PROPERTIES: Properties = Properties { uses_sack: true, keeps_scoreboard: true, ..Properties::NONE };
}
