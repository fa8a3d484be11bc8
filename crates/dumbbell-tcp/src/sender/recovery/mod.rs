//! Loss recovery: when a segment is considered lost, what is retransmitted, and how much at a time.
//!
//! Recoveries are a closed set, with one file each and one line in [`config::recovery`](crate::config::recovery), which
//! has their parameters. A recovery owns its state and reaches the connection through an [`Access`]; code specific to one
//! environment is in the file of that environment's recovery.
//!
//! An ACK enters a recovery once or twice, and before that if it reports what arrived twice. A duplicate enters by
//! [`on_duplicate_ack`](LossRecovery::on_duplicate_ack). New data enters by [`on_new_ack`](LossRecovery::on_new_ack) before
//! anything is made of the ACK, and by [`on_acknowledged`](LossRecovery::on_acknowledged) after the congestion control is
//! informed. A recovery that detects losses by time is entered by [`on_delivered`](LossRecovery::on_delivered) instead of
//! the first and the last: between the scoreboard and the congestion control.

mod fast;
mod fine;
mod newreno;
mod ns2_sack;
mod ns2_vegas;
mod ns3_sack;
mod probe;
mod prr;
mod rack;
mod reno;
mod rfc6675;
mod tahoe;
mod undo;

use super::access::Access;
use super::cause::Cause;
use super::duplicates::DUPLICATE_THRESHOLD;
use super::timers::TimerKind;
use crate::config::recovery::{Properties, RecoveryRules, RecoverySpec, recoveries};
use crate::segment::DataSegment;
use dumbbell_cc::Mechanisms;
use dumbbell_units::Time;
use newreno::NewReno;
use ns2_sack::Ns2Sack;
use ns2_vegas::Ns2Vegas;
use ns3_sack::Ns3Sack;
use rack::Rack;
use reno::Reno;
use rfc6675::Rfc6675;
use tahoe::Tahoe;

/// The setup of a recovery at the start of a connection.
pub(super) struct Start {
    /// Time of the start.
    pub(super) now: Time,
    /// The switches of TCP Vegas. The recovery owns C, D and E, and takes F into account.
    pub(super) mechanisms: Mechanisms,
}

/// What follows from an ACK for new data.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewAck {
    /// The window does not grow.
    pub(super) in_recovery: bool,
    /// Effect on the retransmission timer.
    pub(super) timer: TimerRule,
    /// All reports are cleared, because no recovery needs them.
    pub(super) clears_reports: bool,
    /// [`on_acknowledged`](LossRecovery::on_acknowledged) is called.
    pub(super) follows_up: bool,
}

impl NewAck {
    /// The recovery is not complete [RFC 6582 §3.2 step 3].
    const PARTIAL: NewAck =
        NewAck { in_recovery: true, timer: TimerRule::Restart, clears_reports: false, follows_up: true };
    /// No recovery is in progress any more.
    const FULL: NewAck =
        NewAck { in_recovery: false, timer: TimerRule::Restart, clears_reports: false, follows_up: false };
}

/// The kind of an ACK to a recovery that detects losses by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeliveredBy {
    /// It acknowledges new data.
    NewData,
    /// It counts as a duplicate.
    Duplicate,
    /// Neither.
    Other,
}

/// A loss recovery.
///
/// Required: [`new`](Self::new), [`on_duplicate_ack`](Self::on_duplicate_ack), [`on_new_ack`](Self::on_new_ack) and
/// [`on_timeout`](Self::on_timeout). The rest is optional.
pub(super) trait LossRecovery: Sized {
    /// Its parameters.
    type Rules: RecoveryRules;

    /// Required: the state at the start of a connection.
    fn new(rules: &Self::Rules, start: &Start) -> Self;

    /// Optional: maximum number of segments per event during a recovery.
    fn burst_limit(&self) -> u64 {
        u64::MAX
    }

    /// Optional: bytes deducted from the window by partial ACKs until the recovery ends.
    fn deflated(&self) -> f64 {
        0.0
    }

    /// Optional: true while duplicate ACKs are ignored.
    fn ignores_duplicates(&self) -> bool {
        false
    }

    /// Optional, by time: an ACK reports that this range arrived twice. Nothing else has been made of the ACK.
    fn on_duplicate_report(&mut self, _connection: &mut Access<'_>, _range: (u64, u64)) {}

    /// Optional, by time: the scoreboard has recorded what an ACK delivers, and the congestion control does not know of it.
    fn on_delivered(&mut self, _connection: &mut Access<'_>, _by: DeliveredBy) {}

    /// Optional, by time: an ACK echoes a mark, delivers so many bytes, and may acknowledge new data. True if the recovery
    /// reacts; otherwise the window is reduced at once.
    fn on_mark(&mut self, _connection: &mut Access<'_>, _delivered: u64, _is_advance: bool) -> bool {
        false
    }

    /// Optional: true in the state Disorder, if the recovery has such a state.
    fn is_disordered(&self) -> Option<bool> {
        None
    }

    /// Optional: the degree of reordering in segments, and how often it was seen.
    fn reordering(&self) -> (u64, u64) {
        (u64::from(DUPLICATE_THRESHOLD), 0)
    }

    /// Optional: the window also grows with reports.
    fn grows_on_reports(&self) -> bool {
        false
    }

    /// Required unless losses are detected by time: a duplicate ACK arrived, the congestion control knows of it, and it was
    /// counted.
    fn on_duplicate_ack(&mut self, _connection: &mut Access<'_>) {}

    /// Required: new data up to `ack` was acknowledged; no other component has processed it yet. A recovery that it
    /// completes ends here.
    fn on_new_ack(&mut self, connection: &mut Access<'_>, ack: u64) -> NewAck;

    /// Optional: a new ACK that [is followed up](NewAck::follows_up), as a partial one, was processed: `acked` bytes, and
    /// the round-trip time of the newest segment if known.
    fn on_acknowledged(&mut self, _connection: &mut Access<'_>, _acked: u64, _rtt: Option<Time>) {}

    /// Required: the retransmission timer expired. The recovery informs the congestion control and ends; the connection
    /// goes back to the oldest segment.
    fn on_timeout(&mut self, connection: &mut Access<'_>);

    /// Optional: a probe or reordering timer that the recovery has set expired.
    fn on_timer(&mut self, _connection: &mut Access<'_>, _kind: TimerKind) {}

    /// Optional: the urgent retransmission of the oldest segment; `None` if nothing is outstanding.
    fn poll_head(&mut self, connection: &mut Access<'_>) -> Option<DataSegment> {
        (!connection.scoreboard().is_empty()).then(|| connection.send_again(0))
    }

    /// Optional: why [`poll`](Self::poll) would repeat a segment now; `None` for the reason of the last time that the
    /// connection went back. Only a recording asks.
    fn cause(&self, in_recovery: bool, _in_loss: bool) -> Option<Cause> {
        (Self::Rules::PROPERTIES.uses_sack && in_recovery).then_some(Cause::Sack)
    }

    /// Optional: the next segment during a recovery, if one is allowed.
    fn poll(&mut self, connection: &mut Access<'_>) -> Option<DataSegment> {
        connection.poll_window()
    }
}

/// Effect of an ACK for new data on the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerRule {
    /// It restarts while anything is outstanding [RFC 6298 §5.3], and stops otherwise.
    Restart,
    /// It keeps running while anything is outstanding, and stops otherwise.
    GoOn,
    /// It restarts in any case.
    RestartAlways,
}

macro_rules! states {
    ($( $(#[doc = $doc:literal])+ $name:literal => $Type:ident($Rules:ident), )+) => {
        /// The state of one connection's recovery.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "every packet needs it, so it is in no box; most senders have RACK")]
        pub(super) enum Recovery {
            $( $(#[doc = $doc])+ $Type($Type), )+
        }

        /// The hooks of a [`LossRecovery`], by its kind.
        impl Recovery {
            /// The state at the start of a connection.
            pub(super) fn new(spec: &RecoverySpec, start: &Start) -> Self {
                match spec {
                    $( RecoverySpec::$Type(rules) => Recovery::$Type(LossRecovery::new(rules, start)), )+
                }
            }

            /// What holds whatever the parameters.
            #[inline]
            pub(super) fn properties(&self) -> Properties {
                match self { $( Recovery::$Type(_) => <$Type as LossRecovery>::Rules::PROPERTIES, )+ }
            }

            #[inline]
            pub(super) fn burst_limit(&self) -> u64 {
                match self { $( Recovery::$Type(recovery) => recovery.burst_limit(), )+ }
            }

            #[inline]
            pub(super) fn deflated(&self) -> f64 {
                match self { $( Recovery::$Type(recovery) => recovery.deflated(), )+ }
            }

            #[inline]
            pub(super) fn ignores_duplicates(&self) -> bool {
                match self { $( Recovery::$Type(recovery) => recovery.ignores_duplicates(), )+ }
            }

            pub(super) fn on_duplicate_report(&mut self, connection: &mut Access<'_>, range: (u64, u64)) {
                match self { $( Recovery::$Type(recovery) => recovery.on_duplicate_report(connection, range), )+ }
            }

            pub(super) fn on_delivered(&mut self, connection: &mut Access<'_>, by: DeliveredBy) {
                match self { $( Recovery::$Type(recovery) => recovery.on_delivered(connection, by), )+ }
            }

            pub(super) fn on_mark(
                &mut self,
                connection: &mut Access<'_>,
                delivered: u64,
                is_advance: bool,
            ) -> bool {
                match self { $( Recovery::$Type(recovery) => recovery.on_mark(connection, delivered, is_advance), )+ }
            }

            pub(super) fn is_disordered(&self) -> Option<bool> {
                match self { $( Recovery::$Type(recovery) => recovery.is_disordered(), )+ }
            }

            pub(super) fn reordering(&self) -> (u64, u64) {
                match self { $( Recovery::$Type(recovery) => recovery.reordering(), )+ }
            }

            pub(super) fn grows_on_reports(&self) -> bool {
                match self { $( Recovery::$Type(recovery) => recovery.grows_on_reports(), )+ }
            }

            #[inline(never)]
            pub(super) fn on_duplicate_ack(&mut self, connection: &mut Access<'_>) {
                match self { $( Recovery::$Type(recovery) => recovery.on_duplicate_ack(connection), )+ }
            }

            #[inline]
            pub(super) fn on_new_ack(&mut self, connection: &mut Access<'_>, ack: u64) -> NewAck {
                match self { $( Recovery::$Type(recovery) => recovery.on_new_ack(connection, ack), )+ }
            }

            #[inline]
            pub(super) fn on_acknowledged(&mut self, connection: &mut Access<'_>, acked: u64, rtt: Option<Time>) {
                match self { $( Recovery::$Type(recovery) => recovery.on_acknowledged(connection, acked, rtt), )+ }
            }

            pub(super) fn on_timeout(&mut self, connection: &mut Access<'_>) {
                match self { $( Recovery::$Type(recovery) => recovery.on_timeout(connection), )+ }
            }

            pub(super) fn on_timer(&mut self, connection: &mut Access<'_>, kind: TimerKind) {
                match self { $( Recovery::$Type(recovery) => recovery.on_timer(connection, kind), )+ }
            }

            pub(super) fn poll_head(&mut self, connection: &mut Access<'_>) -> Option<DataSegment> {
                match self { $( Recovery::$Type(recovery) => recovery.poll_head(connection), )+ }
            }

            pub(super) fn cause(&self, in_recovery: bool, in_loss: bool) -> Option<Cause> {
                match self { $( Recovery::$Type(recovery) => recovery.cause(in_recovery, in_loss), )+ }
            }

            pub(super) fn poll(&mut self, connection: &mut Access<'_>) -> Option<DataSegment> {
                match self { $( Recovery::$Type(recovery) => recovery.poll(connection), )+ }
            }
        }
    };
}

recoveries!(states);
