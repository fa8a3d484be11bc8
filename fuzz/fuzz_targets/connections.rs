//! Any segments between two ends. Following them never panics, and what is counted adds up.

#![no_main]

use arbitrary::Arbitrary;
use dumbbell_fuzz::count_events;
use dumbbell_inspect::connection::Connection;
use dumbbell_inspect::rows::{COLUMNS, Column, Row};
use dumbbell_inspect::{Connections, Flags, Options, Segment};
use dumbbell_units::{Ecn, Time};
use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;

/// A segment, mostly near to those before it.
#[derive(Arbitrary, Debug)]
struct Input {
    /// Sent by the client, and to it.
    is_client: bool,
    /// Time since the last one in microseconds, or back.
    after: i32,
    /// Numbers, from where they stood.
    seq: i32,
    ack: i32,
    payload: u16,
    flags: u8,
    window: u16,
    identification: u8,
    clock: Option<(u8, u8)>,
    sack: [(u16, u16); 4],
    sack_count: u8,
    has_options: bool,
    scale: u8,
}

fuzz_target!(|inputs: Vec<Input>| {
    let segments = segments(&inputs);
    let mut connections = Connections::new(Some(1));
    segments.iter().for_each(|segment| connections.on_segment(segment));
    assert_eq!(connections.omitted, 0);
    let found = connections.finish();
    found.iter().for_each(check);
    let seen: u64 = found.iter().map(|connection| connection.segments + connection.captured_twice).sum();
    assert_eq!(seen, segments.len() as u64, "each segment belongs to a connection");
    count_events(seen);
});

fn segments(inputs: &[Input]) -> Vec<Segment> {
    let ends: [SocketAddr; 2] = [([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into()];
    let mut at = 1_u64 << 40;
    let mut next = [0_u32, 0];
    let segment = |input: &Input| {
        let own = usize::from(!input.is_client);
        at = at.saturating_add_signed(i64::from(input.after) * 1000);
        let seq = next[own].wrapping_add_signed(input.seq);
        let ack = next[1 - own].wrapping_add_signed(input.ack);
        next[own] = seq.wrapping_add(input.payload.into());
        let bit = |place: u8| input.flags >> place & 1 == 1;
        let range = |(start, length): (u16, u16)| {
            let start = ack.wrapping_add(start.into());
            (start, start.wrapping_add(length.into()))
        };
        Segment {
            at: Time(at),
            interface: 0,
            from: ends[own],
            to: ends[1 - own],
            seq,
            ack,
            flags: Flags {
                syn: bit(0),
                ack: !bit(1),
                fin: bit(2),
                rst: bit(3),
                ece: bit(4),
                ..Flags::default()
            },
            window: input.window,
            payload: input.payload.into(),
            options: Options {
                mss: input.has_options.then_some(1460),
                scale: input.has_options.then_some(input.scale.min(14)),
                sack_permitted: input.has_options,
                timestamps: input.clock.map(|(clock, echo)| (clock.into(), echo.into())),
                sack: input.sack.map(range),
                sack_count: input.sack_count.min(4),
            },
            ecn: Ecn::NotEct,
            identification: Some(input.identification.into()),
            hops: 64,
        }
    };
    inputs.iter().map(segment).collect()
}

fn check(connection: &Connection) {
    for (place, half) in connection.halves.iter().enumerate() {
        let counts = &half.counts;
        assert_eq!(counts.retransmitted, counts.fast + counts.probe + counts.timeout + counts.other);
        assert!(counts.retransmitted + counts.out_of_order <= counts.segments);
        assert!(counts.spurious <= counts.segments && counts.duplicate_acks <= counts.acks);
        assert!(counts.bytes_retransmitted <= counts.payload);
        if let Some(series) = &half.series {
            assert_eq!(series.segments.len() as u64, counts.segments);
            assert_eq!(series.acks.len() as u64, counts.acks);
            let spurious = series.segments.iter().filter(|row| row.spurious).count() as u64;
            assert!(spurious <= counts.spurious);
        }
        let row = Row { number: 1, connection, half: place, epoch: connection.seen.0 };
        for (name, .., column) in COLUMNS {
            if let Column::Real(value) = column
                && let Some(value) = value(&row)
            {
                assert!(value.is_finite() && value >= 0.0, "{name} is {value}");
            }
        }
    }
}
