//! The columns of the table of connections, each with its unit and its meaning.

use crate::connection::{Connection, Place};
use crate::half::Half;
use crate::rounds::Limit;
use dumbbell_units::Time;

/// One direction of a connection: a row.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    /// Number of the connection, counted from 1.
    pub number: u64,
    /// The connection.
    pub connection: &'a Connection,
    /// Whose data it is: of the client (0) or of the server (1).
    pub half: usize,
    /// When the capture begins.
    pub epoch: Time,
}

impl Row<'_> {
    fn data(&self) -> &Half {
        &self.connection.halves[self.half]
    }

    fn since_epoch(&self, at: Time) -> f64 {
        (at - self.epoch).secs()
    }

    /// From the first segment of data to the last event that moved data.
    fn active(&self) -> Option<f64> {
        let half = self.data();
        half.begun.map(|begun| (half.moved - begun).secs()).filter(|active| *active > 0.0)
    }

    fn ends(&self) -> (String, String) {
        let (client, server) = (self.connection.client.to_string(), self.connection.server.to_string());
        if self.half == 0 { (client, server) } else { (server, client) }
    }

    /// The statistics of round-trip times, of the way on which they are whole.
    fn rtt(&self, value: impl Fn(&crate::rtt::Rtt) -> Option<Time>) -> Option<f64> {
        let half = self.data();
        let found = match self.connection.place(self.half) {
            Place::Receiver => value(&half.echoes.rtt),
            Place::Between => {
                let parts = value(&half.rtt).zip(value(&half.echoes.rtt));
                parts.map(|(ahead, back)| ahead + back)
            }
            Place::Sender | Place::Unknown => value(&half.rtt),
        };
        found.map(Time::secs)
    }

    fn share(&self, limit: Limit) -> Option<f64> {
        self.share_of_time(self.data().rounds.totals[limit as usize])
    }

    fn share_of_time(&self, time: u64) -> Option<f64> {
        let all: u64 = self.data().rounds.totals.iter().sum();
        (all > 0).then(|| time as f64 / all as f64)
    }
}

/// How a column gets its values.
pub enum Column {
    /// A name.
    Text(fn(&Row<'_>) -> String),
    /// A whole number, which may be missing.
    Whole(fn(&Row<'_>) -> Option<u64>),
    /// A number, which may be missing.
    Real(fn(&Row<'_>) -> Option<f64>),
    /// True, false, or missing.
    Flag(fn(&Row<'_>) -> Option<bool>),
}

use Column::{Flag, Real, Text, Whole};

/// The columns: name, unit, meaning, value.
pub const COLUMNS: &[(&str, &str, &str, Column)] = &[
    (
        "connection",
        "-",
        "Number of the connection, in the order in which they begin.",
        Whole(|row| Some(row.number)),
    ),
    (
        "name",
        "-",
        "Sender and receiver of the data.",
        Text(|row| {
            let (from, to) = row.ends();
            format!("{from} > {to}")
        }),
    ),
    ("from", "-", "Address and port of the sender of the data.", Text(|row| row.ends().0)),
    ("to", "-", "Address and port of the receiver of the data.", Text(|row| row.ends().1)),
    (
        "opened_by",
        "-",
        "Address and port of the end that opened the connection.",
        Text(|row| row.connection.client.to_string()),
    ),
    (
        "interface",
        "-",
        "Position of the interface in the capture.",
        Whole(|row| Some(row.connection.interface.into())),
    ),
    (
        "captured_at",
        "-",
        "`sender`, `receiver`, `between`, or `unknown`.",
        Text(|row| row.connection.place(row.half).name().to_owned()),
    ),
    (
        "start_s",
        "s",
        "First segment of the connection, since the first packet of the capture.",
        Real(|row| Some(row.since_epoch(row.connection.seen.0))),
    ),
    (
        "duration_s",
        "s",
        "From its first to its last segment.",
        Real(|row| Some((row.connection.seen.1 - row.connection.seen.0).secs())),
    ),
    ("end", "-", "`fin`, `reset`, or `open`.", Text(|row| row.connection.end.name().to_owned())),
    (
        "handshake_rtt_s",
        "s",
        "From the SYN to the segment that ends the handshake, if nothing of it was sent again.",
        Real(|row| row.connection.handshake_rtt().map(Time::secs)),
    ),
    (
        "syns_retransmitted",
        "segments",
        "SYNs of both sides that were sent again.",
        Whole(|row| Some(row.connection.syns_retransmitted())),
    ),
    ("mss_bytes", "bytes", "The smaller of both MSS options.", Whole(|row| row.data().mss.map(u64::from))),
    (
        "sack",
        "-",
        "Both ends use selective acknowledgements.",
        Flag(|row| row.connection.agrees(|options| options.sack_permitted)),
    ),
    (
        "timestamps",
        "-",
        "Both ends use timestamps.",
        Flag(|row| row.connection.agrees(|options| options.timestamps.is_some())),
    ),
    ("ecn", "-", "Both ends use ECN.", Flag(|row| row.connection.has_ecn())),
    (
        "window_scale",
        "-",
        "Shift of the receiver's windows.",
        Whole(|row| row.connection.receiver_scale(row.half).map(u64::from)),
    ),
    ("bytes_delivered", "bytes", "Data acknowledged in order.", Whole(|row| Some(row.data().acknowledged()))),
    (
        "goodput_bps",
        "bit/s",
        "Data acknowledged in order, from the first segment of data until data moved last.",
        Real(|row| row.active().map(|active| row.data().acknowledged() as f64 * 8.0 / active)),
    ),
    (
        "throughput_bps",
        "bit/s",
        "All data segments with headers of IP and TCP, over the same time.",
        Real(|row| row.active().map(|active| row.data().counts.bytes_with_headers as f64 * 8.0 / active)),
    ),
    (
        "segments_sent",
        "segments",
        "Data segments, including retransmissions.",
        Whole(|row| Some(row.data().counts.segments)),
    ),
    (
        "bytes_sent",
        "bytes",
        "Data sent, including retransmissions.",
        Whole(|row| Some(row.data().counts.payload)),
    ),
    (
        "segments_retransmitted",
        "segments",
        "Data segments retransmitted.",
        Whole(|row| Some(row.data().counts.retransmitted)),
    ),
    (
        "bytes_retransmitted",
        "bytes",
        "Data of retransmitted segments.",
        Whole(|row| Some(row.data().counts.bytes_retransmitted)),
    ),
    (
        "retransmitted_fast",
        "segments",
        "Retransmitted because acknowledgements reported a loss.",
        Whole(|row| Some(row.data().counts.fast)),
    ),
    (
        "retransmitted_probe",
        "segments",
        "Tail loss probes that retransmit.",
        Whole(|row| Some(row.data().counts.probe)),
    ),
    (
        "retransmitted_timeout",
        "segments",
        "Retransmitted because a timer expired, or after it.",
        Whole(|row| Some(row.data().counts.timeout)),
    ),
    (
        "retransmitted_other",
        "segments",
        "Retransmitted for no reason that the capture shows.",
        Whole(|row| Some(row.data().counts.other)),
    ),
    (
        "retransmitted_spurious",
        "segments",
        "Retransmissions, of any kind, of data that the receiver had.",
        Whole(|row| Some(row.data().counts.spurious)),
    ),
    (
        "fast_retransmits",
        "times",
        "Recoveries that acknowledgements began.",
        Whole(|row| Some(row.data().repair.fast_retransmits)),
    ),
    (
        "timeouts",
        "timeouts",
        "Expirations of the retransmission timer.",
        Whole(|row| Some(row.data().repair.timeouts)),
    ),
    (
        "out_of_order",
        "segments",
        "Data segments that were overtaken before the capture.",
        Whole(|row| Some(row.data().counts.out_of_order)),
    ),
    (
        "duplicate_acks",
        "segments",
        "Duplicate acknowledgements.",
        Whole(|row| Some(row.data().counts.duplicate_acks)),
    ),
    (
        "dsacks",
        "segments",
        "Acknowledgements that report a duplicate segment.",
        Whole(|row| Some(row.data().counts.dsacks)),
    ),
    (
        "ce_marks",
        "segments",
        "Data segments with the mark \"congestion experienced\".",
        Whole(|row| Some(row.data().counts.ce_marks)),
    ),
    (
        "zero_windows",
        "segments",
        "Segments of the receiver with a window of zero.",
        Whole(|row| Some(row.data().counts.zero_windows)),
    ),
    (
        "window_probes",
        "segments",
        "Probes of a window of zero.",
        Whole(|row| Some(row.data().counts.window_probes)),
    ),
    (
        "receive_window_limited",
        "times",
        "Times that data filled the window of the receiver: no further segment fitted.",
        Whole(|row| Some(row.data().counts.window_full)),
    ),
    ("keep_alives", "segments", "Keep-alive segments.", Whole(|row| Some(row.data().counts.keep_alives))),
    ("rtt_min_s", "s", "Smallest round-trip time.", Real(|row| row.rtt(|rtt| rtt.least))),
    ("rtt_mean_s", "s", "Mean round-trip time.", Real(|row| row.rtt(|rtt| rtt.mean()))),
    (
        "rtt_max_s",
        "s",
        "Largest round-trip time.",
        Real(|row| row.rtt(|rtt| (rtt.count > 0).then_some(rtt.most))),
    ),
    (
        "largest_segment_bytes",
        "bytes",
        "Largest segment of data; more than the MSS before the network card splits it.",
        Whole(|row| Some(row.data().counts.largest.into())),
    ),
    (
        "bytes_missing",
        "bytes",
        "Data that is acknowledged and that the capture lacks.",
        Whole(|row| Some(row.data().counts.bytes_missing)),
    ),
    (
        "captured_twice",
        "segments",
        "Segments of the connection that were captured twice, and count once.",
        Whole(|row| Some(row.connection.captured_twice)),
    ),
    (
        "limited_by",
        "-",
        "What limited the sender for the longest time.",
        Text(|row| row.connection.longest_limit(row.half).map_or("", Limit::name).to_owned()),
    ),
    (
        "limited_by_application",
        "-",
        "Share of its time in which the application had nothing to send.",
        Real(|row| row.share(Limit::Application)),
    ),
    (
        "limited_by_receiver",
        "-",
        "Share in which the window of the receiver was full.",
        Real(|row| row.share(Limit::Receiver)),
    ),
    (
        "limited_by_slow_start",
        "-",
        "Share in which the window grew as in slow start.",
        Real(|row| row.share(Limit::SlowStart)),
    ),
    (
        "limited_by_congestion",
        "-",
        "Share in which the congestion control held back.",
        Real(|row| row.share(Limit::Congestion)),
    ),
    (
        "limited_by_recovery",
        "-",
        "Share in which losses were repaired.",
        Real(|row| row.share(Limit::Recovery)),
    ),
    (
        "idle",
        "-",
        "Share in which nothing was in flight for longer than a round trip.",
        Real(|row| row.share(Limit::Idle)),
    ),
    (
        "idle_for_other_end",
        "-",
        "The part of `idle` until data of the other end came; the sender paused in the rest.",
        Real(|row| row.share_of_time(row.data().rounds.idle_for_other_end)),
    ),
];
