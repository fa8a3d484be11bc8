//! What connections are told from segments, each rule by a script of segments with numbers by hand.

use dumbbell_inspect::connection::{Connection, End, Place};
use dumbbell_inspect::repair::Kind;
use dumbbell_inspect::{Connections, Flags, Options, Segment};
use dumbbell_units::{Ecn, Time};
use std::net::SocketAddr;

const MS: u64 = 1_000_000;
const ISN: u32 = u32::MAX - 2_000;

fn client() -> SocketAddr {
    "10.0.0.1:40000".parse().expect("an address")
}

fn server() -> SocketAddr {
    "10.0.0.2:80".parse().expect("an address")
}

fn segment(at_ms: u64, from: SocketAddr, to: SocketAddr) -> Segment {
    Segment {
        at: Time(at_ms * MS),
        interface: 0,
        from,
        to,
        seq: 0,
        ack: 0,
        flags: Flags { ack: true, ..Flags::default() },
        window: 60_000,
        payload: 0,
        options: Options::default(),
        ecn: Ecn::NotEct,
        identification: None,
        hops: 64,
    }
}

/// The client sends `bytes` from this offset.
fn data(at_ms: u64, offset: u32, bytes: u32) -> Segment {
    let seq = ISN.wrapping_add(1 + offset);
    Segment { seq, payload: bytes, ack: 501, ..segment(at_ms, client(), server()) }
}

/// The server acknowledges up to this offset and reports ranges beyond.
fn ack(at_ms: u64, offset: u32, ranges: &[(u32, u32)]) -> Segment {
    let number = |offset: u32| ISN.wrapping_add(1 + offset);
    let mut options = Options::default();
    for (place, (start, end)) in ranges.iter().enumerate() {
        options.sack[place] = (number(*start), number(*end));
    }
    options.sack_count = ranges.len() as u8;
    Segment { seq: 501, ack: number(offset), options, ..segment(at_ms, server(), client()) }
}

/// A handshake that takes 100 ms, seen by the client, with SACK and an MSS of 1,000 bytes.
fn opening() -> Vec<Segment> {
    let options = Options { mss: Some(1000), sack_permitted: true, ..Options::default() };
    let syn = Flags { syn: true, ..Flags::default() };
    vec![
        Segment { seq: ISN, flags: syn, options, ..segment(0, client(), server()) },
        Segment {
            seq: 500,
            ack: ISN.wrapping_add(1),
            flags: Flags { ack: true, ..syn },
            options,
            ..segment(100, server(), client())
        },
        data(100, 0, 0),
    ]
}

fn connections(segments: &[Segment]) -> Vec<Connection> {
    let mut found = Connections::new(Some(1));
    segments.iter().for_each(|segment| found.on_segment(segment));
    found.finish()
}

/// The only connection of an opening and what follows.
fn after_opening(segments: &[Segment]) -> Connection {
    let mut all = opening();
    all.extend_from_slice(segments);
    let found = connections(&all);
    assert_eq!(found.len(), 1);
    found.into_iter().next().expect("one")
}

fn kinds(connection: &Connection) -> Vec<Kind> {
    connection.halves[0].series.iter().flat_map(|series| &series.segments).map(|row| row.kind).collect()
}

/// Ten segments of 1,000 bytes at 100 ms, and acknowledgements at 200 ms that report all but the first.
fn first_is_lost() -> Vec<Segment> {
    let mut segments: Vec<Segment> = (0..10).map(|n| data(100, n * 1000, 1000)).collect();
    segments.extend((2..=10).map(|n| ack(200, 0, &[(1000, n * 1000)])));
    segments
}

#[test]
fn a_handshake_tells_the_round_trip_time_the_place_and_the_options() {
    let connection = after_opening(&[]);
    assert_eq!(connection.handshake_rtt(), Some(Time(100 * MS)));
    assert_eq!(connection.place(0), Place::Sender);
    assert_eq!(connection.place(1), Place::Receiver);
    assert_eq!(connection.halves[0].mss, Some(1000));
    assert_eq!(connection.agrees(|options| options.sack_permitted), Some(true));
    assert_eq!(connection.has_ecn(), Some(false));
}

#[test]
fn in_the_middle_of_the_way_the_place_is_between() {
    let mut segments = opening();
    segments[1].at = Time(40 * MS);
    let found = connections(&segments);
    assert_eq!((found[0].place(0), found[0].handshake_rtt()), (Place::Between, Some(Time(100 * MS))));
}

#[test]
fn what_a_host_needs_to_answer_is_no_part_of_the_way() {
    // Both answer within 60 us.
    let mut segments = opening();
    for (segment, at_us) in segments.iter_mut().zip([0, 40, 60]) {
        segment.at = Time(at_us * 1000);
    }
    let found = connections(&segments);
    assert_eq!((found[0].place(0), found[0].place(1)), (Place::Sender, Place::Receiver));
}

#[test]
fn a_handshake_that_was_sent_again_gives_no_round_trip_time() {
    let mut segments = opening();
    segments.insert(1, Segment { at: Time(90 * MS), ..segments[0] });
    let found = connections(&segments);
    assert_eq!((found.len(), found[0].syns_retransmitted(), found[0].handshake_rtt()), (1, 1, None));
}

#[test]
fn sequence_numbers_may_begin_again() {
    // The offset of 2,000 is number zero.
    let connection = after_opening(&[data(100, 1000, 2000), ack(200, 3000, &[])]);
    assert_eq!(connection.halves[0].acknowledged(), 3000);
}

#[test]
fn a_retransmission_below_what_was_reported_is_fast_and_counts_once_as_recovery() {
    let mut segments = first_is_lost();
    segments.extend([data(200, 0, 1000), ack(300, 10_000, &[])]);
    let connection = after_opening(&segments);
    let half = &connection.halves[0];
    assert_eq!(kinds(&connection)[10], Kind::Fast);
    assert_eq!((half.counts.retransmitted, half.counts.fast, half.repair.fast_retransmits), (1, 1, 1));
    assert_eq!((half.counts.duplicate_acks, half.counts.spurious), (9, 0));
    assert_eq!(half.acknowledged(), 10_000);
}

#[test]
fn a_duplicate_acknowledgement_needs_outstanding_data_and_the_same_window() {
    let other_window = Segment { window: 50_000, ..ack(200, 0, &[]) };
    let segments =
        [data(100, 0, 1000), other_window, ack(210, 0, &[]), ack(220, 1000, &[]), ack(230, 1000, &[])];
    assert_eq!(after_opening(&segments).halves[0].counts.duplicate_acks, 0);
    let connection = after_opening(&[data(100, 0, 1000), ack(200, 0, &[])]);
    assert_eq!(connection.halves[0].counts.duplicate_acks, 1);
}

#[test]
fn the_first_outstanding_segment_after_silence_is_a_timeout() {
    let segments = [
        data(100, 0, 1000),
        data(100, 1000, 1000),
        data(400, 0, 1000),
        ack(500, 1000, &[]),
        data(500, 1000, 1000),
    ];
    let connection = after_opening(&segments);
    assert_eq!(kinds(&connection)[2..], [Kind::Timeout, Kind::Timeout]);
    assert_eq!(connection.halves[0].repair.timeouts, 1);
}

#[test]
fn the_last_segment_after_silence_is_a_probe_and_again_a_timeout() {
    let segments = [data(100, 0, 1000), data(100, 1000, 1000), data(310, 1000, 1000), data(900, 1000, 1000)];
    assert_eq!(kinds(&after_opening(&segments))[2..], [Kind::Probe, Kind::Other]);
    let alone = [data(100, 0, 1000), data(410, 0, 1000), data(900, 0, 1000)];
    assert_eq!(kinds(&after_opening(&alone))[1..], [Kind::Probe, Kind::Timeout]);
}

#[test]
fn a_duplicate_that_is_reported_makes_a_retransmission_spurious() {
    let mut segments = first_is_lost();
    segments.extend([data(200, 0, 1000), ack(210, 10_000, &[]), ack(300, 10_000, &[(0, 1000)])]);
    let connection = after_opening(&segments);
    assert_eq!((connection.halves[0].counts.spurious, connection.halves[0].counts.dsacks), (1, 1));
    let series = connection.halves[0].series.as_ref().expect("kept");
    assert!(series.segments[10].spurious);
    assert!(series.acks.last().is_some_and(|row| row.has_dsack && row.sacked == 0));
}

#[test]
fn an_older_clock_that_is_echoed_makes_a_retransmission_spurious() {
    let clocked = |segment: Segment, clock, echo| {
        let options = Options { timestamps: Some((clock, echo)), ..segment.options };
        Segment { options, ..segment }
    };
    for (echo, spurious) in [(700, 1), (1000, 0)] {
        let segments = [
            clocked(data(100, 0, 1000), 700, 1),
            clocked(data(410, 0, 1000), 1000, 1),
            clocked(ack(420, 1000, &[]), 9, echo),
        ];
        assert_eq!(after_opening(&segments).halves[0].counts.spurious, spurious, "echo of {echo}");
    }
}

#[test]
fn a_round_trip_time_comes_from_segments_sent_once() {
    let segments = [
        data(100, 0, 1000),
        data(410, 0, 1000),
        data(410, 1000, 1000),
        ack(520, 1000, &[]),
        ack(530, 2000, &[]),
    ];
    let connection = after_opening(&segments);
    let series = connection.halves[0].series.as_ref().expect("kept");
    let samples: Vec<Option<Time>> = series.acks.iter().map(|row| row.rtt).collect();
    assert_eq!(samples[samples.len() - 2..], [None, Some(Time(120 * MS))]);
}

#[test]
fn the_delivery_rate_is_that_of_the_bottleneck() {
    // Ten segments at once come back every 10 ms, each with the next one: 1,000 bytes in 10 ms are 800 kbit/s.
    let mut segments: Vec<Segment> = (0..10).map(|n| data(100, n * 1000, 1000)).collect();
    segments.extend((1..=30).map(|n| ack(200 + u64::from(n) * 10, n * 1000, &[])));
    segments.extend((10..30).map(|n| data(210 + u64::from(n - 10) * 10, n * 1000, 1000)));
    segments.sort_by_key(|segment| segment.at);
    let connection = after_opening(&segments);
    let last =
        connection.halves[0].series.as_ref().and_then(|series| series.acks.last().copied()).expect("a row");
    assert_eq!((last.rate, last.delivered, last.flight), (Some(800_000.0), 30_000, 0));
}

#[test]
fn a_segment_that_fills_a_hole_at_once_was_overtaken() {
    let segments = [data(100, 1000, 1000), data(101, 0, 1000), ack(102, 2000, &[])];
    let connection = after_opening(&segments);
    assert_eq!(kinds(&connection)[1], Kind::OutOfOrder);
    let counts = connection.halves[0].counts;
    assert_eq!((counts.out_of_order, counts.retransmitted), (1, 0));
}

#[test]
fn what_is_acknowledged_and_was_not_seen_is_missing_in_the_capture() {
    let segments = [data(100, 0, 1000), data(101, 3000, 1000), ack(200, 5000, &[])];
    let counts = after_opening(&segments).halves[0].counts;
    assert_eq!(counts.bytes_missing, 3000);
}

#[test]
fn a_segment_captured_twice_counts_once() {
    let numbered = Segment { identification: Some(7), ..data(100, 0, 1000) };
    let again = Segment { at: Time(100 * MS + 5), hops: 63, ..numbered };
    let connection = after_opening(&[numbered, again, ack(200, 1000, &[])]);
    assert_eq!((connection.captured_twice, connection.halves[0].counts.segments), (1, 1));
    let unnumbered = Segment { identification: Some(0), ..numbered };
    let connection = after_opening(&[unnumbered, Segment { at: again.at, ..unnumbered }]);
    assert_eq!((connection.captured_twice, connection.halves[0].counts.retransmitted), (0, 1));
}

#[test]
fn a_byte_before_the_last_acknowledgement_keeps_the_connection_alive() {
    let segments = [data(100, 0, 1000), ack(200, 1000, &[]), data(9000, 999, 1), data(9900, 999, 0)];
    let counts = after_opening(&segments).halves[0].counts;
    assert_eq!((counts.keep_alives, counts.segments, counts.retransmitted), (2, 1, 0));
}

#[test]
fn a_closed_window_is_counted_with_its_probes() {
    let closed = Segment { window: 0, ..ack(200, 1000, &[]) };
    let segments = [
        data(100, 0, 1000),
        closed,
        data(400, 999, 0),
        Segment { at: Time(500 * MS), ..closed },
        data(800, 1000, 1),
    ];
    let counts = after_opening(&segments).halves[0].counts;
    assert_eq!(
        (counts.zero_windows, counts.window_probes, counts.keep_alives, counts.duplicate_acks),
        (2, 2, 0, 0)
    );
}

#[test]
fn windows_are_scaled_if_both_ends_agree() {
    let mut segments = opening();
    segments[0].options.scale = Some(7);
    segments.push(ack(200, 0, &[]));
    let window = |segments: &[Segment]| {
        let found = connections(segments);
        found[0].halves[0]
            .series
            .as_ref()
            .and_then(|series| series.acks.last().copied())
            .and_then(|row| row.window)
    };
    assert_eq!(window(&segments), Some(60_000), "only the client offers a shift");
    segments[1].options.scale = Some(2);
    assert_eq!(window(&segments), Some(240_000));
    assert_eq!(window(&segments[2..]), None, "without a handshake the shift is unknown");
}

#[test]
fn a_capture_that_begins_in_mid_stream_counts_nothing_as_missing() {
    let connection = connections(&[
        data(0, 500_000, 1000),
        ack(10, 480_000, &[]),
        data(20, 501_000, 1000),
        ack(100, 502_000, &[]),
    ]);
    let half = &connection[0].halves[0];
    assert_eq!((half.counts.bytes_missing, half.counts.retransmitted), (0, 0));
    assert_eq!(half.acknowledged(), 2000);
}

#[test]
fn another_opening_between_the_same_ends_is_another_connection() {
    let mut segments = opening();
    segments.push(data(100, 0, 1000));
    let mut again = segments[0];
    again.at = Time(60_000 * MS);
    again.seq = ISN.wrapping_add(500_000);
    segments.push(again);
    let found = connections(&segments);
    assert_eq!(found.iter().map(|connection| connection.segments).collect::<Vec<_>>(), [4, 1]);
}

#[test]
fn interfaces_are_places_of_their_own() {
    let mut segments = opening();
    segments.extend(opening().into_iter().map(|segment| Segment { interface: 1, ..segment }));
    assert_eq!(connections(&segments).len(), 2);
}

#[test]
fn the_end_is_told_by_the_first_fin_or_a_reset() {
    let fin = Segment { flags: Flags { fin: true, ack: true, ..Flags::default() }, ..data(100, 0, 1000) };
    let connection = after_opening(&[fin, ack(200, 1001, &[])]);
    assert_eq!((connection.end, connection.halves[0].acknowledged()), (End::Fin, 1000));
    assert_eq!(connection.halves[0].counts.bytes_missing, 0);
    let reset = Segment { flags: Flags { rst: true, ..Flags::default() }, ..data(300, 1000, 0) };
    assert_eq!(after_opening(&[reset]).end, End::Reset);
}

/// What the receiver sees of a window of ten segments that doubles, and stays: flights of 100 ms, each acknowledged at once.
fn at_the_receiver() -> Vec<Segment> {
    let mut segments = opening();
    // From here to the sender and back it takes 100 ms, to the receiver and back nothing.
    segments[1].at = Time(0);
    let mut offset = 0;
    for (flight, size) in [10, 20, 40, 40, 40].into_iter().enumerate() {
        for n in 0..size as u64 {
            let at = 100 + flight as u64 * 100 + n;
            segments.push(data(at, offset, 1000));
            offset += 1000;
            segments.push(ack(at, offset, &[]));
        }
    }
    segments
}

#[test]
fn at_the_receiver_a_flight_lasts_until_the_sender_has_heard_of_it() {
    let found = connections(&at_the_receiver());
    assert_eq!(found[0].place(0), Place::Receiver);
    let phases = found[0].halves[0].rounds.phases.as_ref().expect("kept");
    let limits: Vec<&str> = phases.iter().map(|phase| phase.limit.name()).collect();
    assert_eq!(limits, ["handshake", "slow start", "congestion"]);
}

#[test]
fn at_the_receiver_a_segment_that_was_lost_before_is_a_fast_retransmission() {
    let mut segments = at_the_receiver();
    let end = 150_000;
    segments.extend((1..10).flat_map(|n| {
        let (at, last) = (700 + u64::from(n), end + (n + 1) * 1000);
        [data(at, last - 1000, 1000), ack(at, end, &[(end + 1000, last)])]
    }));
    segments.extend((1..100).map(|n| data(720 + u64::from(n), end + 9000 + n * 1000, 1000)));
    segments.extend([data(820, end, 1000), ack(820, end + 109_000, &[])]);
    let half = &connections(&segments)[0].halves[0];
    assert_eq!((half.counts.fast, half.counts.timeout, half.counts.out_of_order), (1, 0, 0));
}
