//! Packet contents. A packet and its slot take one cache line of 64 bytes; its fields are whole words, so that it
//! moves as a few vectors.

use crate::transport::End;
use dumbbell_net::{Packet, Report};
use dumbbell_tcp::{AckSegment, DataSegment, SackBlocks};
use dumbbell_units::{Ecn, Time, prefetch};

/// Content of a packet between end points, depending on the kind of the packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Payload {
    /// First byte of a segment, next byte expected, or interval of a report.
    number: u64,
    /// Queueing time echoed by an acknowledgement, or mean delay of a report.
    queueing_echo: Time,
    /// Length of a segment, index of the reports of an acknowledgement, or packets received in a report.
    detail: u32,
    /// Flags, and above them the number of a segment's flow, since its connection may end before the packet arrives, or
    /// the marked packets counted by an acknowledgement; packets lost in a report.
    flags: u32,
}

const SYN: u32 = 1;
const RETRANSMISSION: u32 = 2;
/// CWR in a segment, ECE in an acknowledgement.
const ECN: u32 = 4;
/// In a datagram: an impairment has made it.
const COPY: u32 = 1;
/// In a packet of a stack that is not ours: it goes to the sender of its flow.
const TO_SENDER: u32 = 1;
/// Bits of the flags.
const FLAGS: u32 = 3;

/// No slot: the acknowledgement has no SACK blocks and no marked bytes.
const NO_REPORTS: u32 = u32::MAX;

impl Payload {
    /// A segment of a flow, encoded.
    #[inline]
    pub(super) fn of_segment(flow: u32, segment: &DataSegment) -> Self {
        let flags = u32::from(segment.is_syn) * SYN
            + u32::from(segment.is_retransmission) * RETRANSMISSION
            + u32::from(segment.is_cwr) * ECN;
        let flags = flow << FLAGS | flags;
        Payload { number: segment.seq, queueing_echo: Time::ZERO, detail: segment.len, flags }
    }

    /// Notes the time that the timestamps of a segment echo; receivers do not use it.
    pub(super) fn note_echo(&mut self, echo: Option<Time>) {
        self.queueing_echo = echo.map_or(Time::ZERO, |echo| Time(echo.0 + 1));
    }

    /// The time noted.
    pub(super) fn echo(&self) -> Option<Time> {
        self.queueing_echo.0.checked_sub(1).map(Time)
    }

    /// A datagram, by its number within its flow, counted from 1.
    pub(super) fn of_datagram(number: u64) -> Self {
        Payload { number, ..Payload::default() }
    }

    /// The number of a datagram.
    pub(super) fn datagram(&self) -> u64 {
        self.number
    }

    /// A report about datagrams, encoded.
    pub(super) fn of_report(report: &Report) -> Self {
        let count = |packets: u64| u32::try_from(packets).unwrap_or(u32::MAX);
        Payload {
            number: report.interval.0,
            queueing_echo: report.delay,
            detail: count(report.received),
            flags: count(report.lost),
        }
    }

    /// The report in a packet.
    pub(super) fn report(&self) -> Report {
        Report {
            received: u64::from(self.detail),
            lost: u64::from(self.flags),
            interval: Time(self.number),
            delay: self.queueing_echo,
        }
    }

    /// The payload of a copy of this datagram.
    pub(super) fn copied(&self) -> Self {
        Payload { flags: COPY, ..*self }
    }

    /// True if a datagram is a copy, whose bytes are not new.
    pub(super) fn is_copy(&self) -> bool {
        self.flags & COPY != 0
    }

    /// A packet of a connection of a stack that is not ours, whose bytes are in this buffer.
    pub(super) fn of_carried((connection, buffer): (u32, u32), to: End) -> Self {
        let flags = if to == End::Sender { TO_SENDER } else { 0 };
        Payload { number: u64::from(connection), detail: buffer, flags, ..Payload::default() }
    }

    /// The connection of such a packet.
    pub(super) fn connection(&self) -> u32 {
        self.number as u32
    }

    /// The buffer of such a packet.
    pub(super) fn buffer(&self) -> u32 {
        self.detail
    }

    /// The end to which such a packet is addressed.
    pub(super) fn to(&self) -> End {
        if self.flags & TO_SENDER == 0 { End::Receiver } else { End::Sender }
    }

    /// The flow of a data packet.
    #[inline]
    pub(super) fn flow(&self) -> u32 {
        self.flags >> FLAGS
    }

    /// The segment in a data packet that arrives with this codepoint.
    #[inline]
    pub(super) fn segment(&self, ecn: Ecn) -> DataSegment {
        DataSegment {
            seq: self.number,
            len: self.detail,
            is_retransmission: self.flags & RETRANSMISSION != 0,
            is_syn: self.flags & SYN != 0,
            ecn,
            is_cwr: self.flags & ECN != 0,
        }
    }
}

/// SACK blocks and marked bytes of an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reported {
    sack: SackBlocks,
    ce_bytes: u32,
}

/// The reports of acknowledgements in flight; most have none.
#[derive(Clone, Debug, Default)]
pub(super) struct Reports {
    reports: Vec<Reported>,
    free: Vec<u32>,
    /// When the acknowledgements of these reports were sent, if someone wants to know.
    sent: Option<Vec<Time>>,
    /// Where the receive windows that they tell end, 0 for none, if any of them does.
    windows: Option<Vec<u64>>,
    /// One of these is kept of every acknowledgement.
    keeps_all: bool,
}

impl Reports {
    /// Encodes an acknowledgement. The time it echoes becomes the time stamp of its packet.
    // Inlined, so that a report is stored in its place directly from registers.
    #[inline(always)]
    pub(super) fn carry(&mut self, ack: &AckSegment) -> Payload {
        let is_plain = ack.sack.is_empty() && ack.ce_bytes == 0 && !self.keeps_all;
        let detail = if is_plain {
            NO_REPORTS
        } else {
            self.keep(Reported { sack: ack.sack, ce_bytes: ack.ce_bytes })
        };
        let flags = u32::from(ack.is_syn) * SYN + u32::from(ack.is_ece) * ECN;
        let flags = u32::from(ack.ce_packets) << FLAGS | flags;
        Payload { number: ack.ack, queueing_echo: ack.queueing_echo, detail, flags }
    }

    #[inline(always)]
    fn keep(&mut self, report: Reported) -> u32 {
        let index = match self.free.pop() {
            Some(index) => {
                self.reports[index as usize] = report;
                index
            }
            None => {
                self.reports.push(report);
                (self.reports.len() - 1) as u32
            }
        };
        if let Some(sent) = &mut self.sent {
            sent.resize(self.reports.len(), Time::NEVER);
            sent[index as usize] = Time::NEVER;
        }
        if let Some(windows) = &mut self.windows {
            windows.resize(self.reports.len(), 0);
            windows[index as usize] = 0;
        }
        index
    }

    /// From now on, keeps the times at which acknowledgements are sent. There are none yet.
    pub(super) fn keep_times(&mut self) {
        self.sent = Some(Vec::new());
        self.keeps_all = true;
    }

    /// From now on, keeps the receive windows that acknowledgements tell. There are none yet.
    pub(super) fn keep_windows(&mut self) {
        self.windows = Some(Vec::new());
        self.keeps_all = true;
    }

    /// True if acknowledgements may tell receive windows.
    #[inline]
    pub(super) fn keeps_windows(&self) -> bool {
        self.windows.is_some()
    }

    /// An acknowledgement tells where the receive window ends.
    pub(super) fn note_window(&mut self, payload: &Payload, edge: u64) {
        if let Some(window) = self.windows.as_mut().and_then(|known| known.get_mut(payload.detail as usize)) {
            *window = edge;
        }
    }

    /// Where the receive window ends that an acknowledgement tells, if it does.
    #[inline]
    pub(super) fn window(&self, payload: &Payload) -> Option<u64> {
        let window = self.windows.as_ref()?.get(payload.detail as usize);
        window.copied().filter(|&edge| edge > 0)
    }

    /// An acknowledgement enters a link. On its first one, it is sent.
    pub(super) fn note_sent(&mut self, payload: &Payload, at: Time) {
        let sent = self.sent.as_mut().and_then(|sent| sent.get_mut(payload.detail as usize));
        if let Some(sent) = sent
            && *sent == Time::NEVER
        {
            *sent = at;
        }
    }

    /// When an acknowledgement was sent.
    pub(super) fn sent(&self, payload: &Payload) -> Time {
        let sent = self.sent.as_ref().and_then(|sent| sent.get(payload.detail as usize));
        sent.copied().unwrap_or(Time::NEVER)
    }

    /// The payload of a copy of an acknowledgement, with reports of its own.
    pub(super) fn copy(&mut self, payload: &Payload) -> Payload {
        if payload.detail == NO_REPORTS {
            return *payload;
        }
        let sent = self.sent(payload);
        let window = self.window(payload);
        let copy = Payload { detail: self.keep(self.reports[payload.detail as usize]), ..*payload };
        self.note_window(&copy, window.unwrap_or_default());
        self.note_sent(&copy, sent);
        copy
    }

    /// Prefetches the reports of an acknowledgement.
    #[inline]
    pub(super) fn prefetch(&self, payload: &Payload) {
        // The length of a segment is no index, which does no harm.
        if let Some(reported) = self.reports.get(payload.detail as usize) {
            prefetch(&reported.sack);
            prefetch(&reported.ce_bytes);
        }
    }

    /// The acknowledgement in a packet that has arrived.
    #[inline]
    pub(super) fn take(&mut self, packet: &Packet<Payload>) -> AckSegment {
        if packet.payload.detail == NO_REPORTS {
            return Self::decode(packet, Reported::default());
        }
        let reported = self.release(&packet.payload);
        Self::decode(packet, reported)
    }

    /// The acknowledgement in a packet in flight.
    pub(super) fn read(&self, packet: &Packet<Payload>) -> AckSegment {
        let reported = self.reports.get(packet.payload.detail as usize).copied();
        Self::decode(packet, reported.unwrap_or_default())
    }

    #[inline(always)]
    fn decode(packet: &Packet<Payload>, Reported { sack, ce_bytes }: Reported) -> AckSegment {
        AckSegment {
            ack: packet.payload.number,
            timestamp_echo: packet.timestamp,
            sack,
            queueing_echo: packet.payload.queueing_echo,
            is_syn: packet.payload.flags & SYN != 0,
            is_ece: packet.payload.flags & ECN != 0,
            ce_packets: (packet.payload.flags >> FLAGS) as u16,
            ce_bytes,
        }
    }

    /// Frees the reports of an acknowledgement that is no longer in flight.
    #[inline]
    pub(super) fn release(&mut self, payload: &Payload) -> Reported {
        if payload.detail == NO_REPORTS {
            return Reported::default();
        }
        self.free.push(payload.detail);
        self.reports[payload.detail as usize]
    }
}

const _: () = assert!(size_of::<Packet<Payload>>() <= 60 - 4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_arrives_as_it_was_sent() {
        let mut sack = SackBlocks::default();
        sack.push(5_000, 1_000);
        for (sack, ce_bytes) in [(SackBlocks::default(), 0), (SackBlocks::default(), 7), (sack, 0)] {
            for (is_syn, is_ece) in [(false, false), (true, false), (false, true)] {
                let ack = AckSegment {
                    ack: 3_000,
                    timestamp_echo: Time(11),
                    sack,
                    queueing_echo: Time(13),
                    is_syn,
                    is_ece,
                    ce_packets: u16::MAX - 1,
                    ce_bytes,
                };
                let mut reports = Reports::default();
                let packet =
                    Packet { timestamp: ack.timestamp_echo, ..Packet::of_size(40, reports.carry(&ack)) };
                assert_eq!((reports.read(&packet), reports.take(&packet)), (ack, ack));
            }
        }
    }

    #[test]
    fn a_segment_arrives_as_it_was_sent() {
        for (is_retransmission, is_syn, is_cwr) in
            [(true, false, false), (false, true, false), (false, false, true)]
        {
            let segment =
                DataSegment { seq: 3_000, len: 1_000, is_retransmission, is_syn, ecn: Ecn::Ect1, is_cwr };
            let payload = Payload::of_segment(100_000, &segment);
            assert_eq!((payload.flow(), payload.segment(Ecn::Ect1)), (100_000, segment));
        }
    }
}
