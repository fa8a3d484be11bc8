//! The receiver of Linux with its segments of 1460 bytes; scripts of segments show the same on the kernel.

use crate::config::{DelayForm, DelayedAck, DelayedAckParams, Rules};
use crate::{DataSegment, HostClock, Receiver, TcpParams};
use dumbbell_units::Time;

const FULL: u32 = 1460;

/// A receiver whose clock has ticks of 4 ms, from time 0 on.
fn receiver(delayed: DelayedAckParams) -> Receiver {
    let delayed_ack =
        DelayedAck::On(DelayedAckParams { form: DelayForm::Linux, timer: Time(40_000_000), ..delayed });
    let params =
        TcpParams { delayed_ack, mss: dumbbell_units::Bytes(FULL.into()), ..Rules::Linux.defaults() };
    Receiver::new(&params, HostClock::Fraction(0.0))
}

fn ms(milliseconds: u64) -> Time {
    Time(milliseconds * 1_000_000)
}

/// The `number`th full segment.
fn full(number: u64) -> DataSegment {
    DataSegment::new(number * u64::from(FULL), FULL)
}

/// The acknowledgement of a segment that was just sent, in segments, and its blocks.
fn arrive(receiver: &mut Receiver, now: Time, segment: &DataSegment) -> Option<(u64, Vec<(u64, u64)>)> {
    let ack = receiver.on_segment(now, segment, now, Time::ZERO)?;
    let number = |byte: u64| byte / u64::from(FULL);
    let duplicate = ack.sack.duplicate(ack.ack).into_iter();
    let blocks = duplicate.chain(ack.sack.ranges(ack.ack)).map(|(from, to)| (number(from), number(to)));
    Some((number(ack.ack), blocks.collect()))
}

#[test]
fn segments_are_acknowledged_at_once_again_after_a_gap_and_after_a_duplicate() {
    let start = |again, has_handshake| {
        let mut receiver =
            receiver(DelayedAckParams { quick: 2, quick_again: again, ..DelayedAckParams::default() });
        if has_handshake {
            let request = DataSegment { is_syn: true, ..DataSegment::new(0, 0) };
            assert!(receiver.on_segment(Time(0), &request, Time(0), Time::ZERO).is_some());
        }
        move |milliseconds, number| arrive(&mut receiver, ms(milliseconds), &full(number)).is_some()
    };
    // A handshake of 150 ms: the timeout is 150 + 2 * 150 = 450 ms, 113 ticks.
    let mut at = start(true, true);
    assert_eq!([at(150, 0), at(150, 1), at(150, 2), at(150, 3)], [true, true, false, true]);
    assert_eq!([at(600, 4), at(600, 5)], [false, true]);
    assert_eq!([at(1060, 6), at(1060, 7), at(1060, 8)], [true, true, false]);
    // What has arrived before has the same effect; its own acknowledgement is one of them.
    assert_eq!([at(1060, 0), at(1060, 9), at(1060, 10), at(1060, 11)], [true, true, false, true]);
    // Of 50 ms: 250 ms. Without a handshake: a second.
    for (has_handshake, gap) in [(true, 250), (false, 1000)] {
        let mut at = start(true, has_handshake);
        assert_eq!([at(50, 0), at(50, 1), at(50 + gap, 2)], [true, true, false]);
        assert!(at(58 + 2 * gap, 3) && at(58 + 2 * gap, 4));
        assert!(!at(58 + 2 * gap, 5));
    }
    let mut once = start(false, true);
    assert_eq!([once(50, 0), once(50, 1), once(9000, 2)], [true, true, false]);
    assert_eq!([once(9000, 0), once(9000, 3), once(9000, 4)], [true, false, true]);
}

#[test]
fn a_receiver_that_waits_for_more_segments_than_there_are_acknowledges_by_its_timer() {
    let mut receiver = receiver(DelayedAckParams { segments: u64::MAX, ..DelayedAckParams::default() });
    assert!((0..9).all(|number| arrive(&mut receiver, ms(101), &full(number)).is_none()));
    assert!(receiver.is_delaying());
}

#[test]
fn the_delay_ends_with_a_tick_and_doubles_if_it_does() {
    let mut receiver = receiver(DelayedAckParams::default());
    assert_eq!(arrive(&mut receiver, ms(101), &full(0)), None);
    assert!(receiver.is_delaying());
    // Ten ticks from that at 100 ms on, and the one of the timer.
    assert_eq!(receiver.next_deadline(), ms(144));
    assert_eq!(receiver.on_deadline(ms(143)), None);
    assert_eq!(receiver.on_deadline(ms(144)).map(|ack| ack.ack), Some(1460));
    assert_eq!(receiver.next_deadline(), Time::NEVER);
    // 80 ms; a second segment does not wait for it.
    assert_eq!(arrive(&mut receiver, ms(300), &full(1)), None);
    assert_eq!(receiver.next_deadline(), ms(384));
    assert_eq!(arrive(&mut receiver, ms(301), &full(2)), Some((3, vec![])));
    // A gap of up to 20 ms halves the difference to 40 ms: 60, then 50 ms.
    assert_eq!(arrive(&mut receiver, ms(400), &full(3)), None);
    assert_eq!(receiver.next_deadline(), ms(400 + 60 + 4));
}

#[test]
fn an_acknowledgement_that_is_due_in_a_quarter_of_the_delay_does_not_wait_for_it() {
    let mut receiver = receiver(DelayedAckParams::default());
    let small = |number: u64| DataSegment::new(100 * number, 100);
    receiver.stand_alone();
    assert_eq!(receiver.on_segment(ms(100), &small(0), ms(100), Time::ZERO), None);
    assert_eq!(receiver.on_segment(ms(112), &small(1), ms(112), Time::ZERO), None);
    assert_eq!(receiver.next_deadline(), ms(144));
    // Of the delay of 40 ms, 8 are left.
    assert_eq!(receiver.on_segment(ms(132), &small(2), ms(132), Time::ZERO).map(|ack| ack.ack), Some(300));
}

#[test]
fn what_is_not_full_waits_for_the_application_alone() {
    let small = |number: u64| DataSegment::new(100 * number, 100);
    let mut at_once = receiver(DelayedAckParams::default());
    assert_eq!(at_once.on_segment(ms(100), &small(0), ms(100), Time::ZERO).map(|ack| ack.ack), Some(100));
    let mut slow = receiver(DelayedAckParams::default());
    slow.stand_alone();
    assert_eq!(slow.on_segment(ms(100), &small(0), ms(100), Time::ZERO), None);
    assert_eq!(slow.on_read(ms(101), 99), None);
    assert_eq!(slow.on_read(ms(101), 99).map(|ack| ack.ack), Some(100));
    assert_eq!(slow.on_read(ms(101), 99), None);
}

#[test]
fn acknowledgements_of_data_out_of_order_wait_together_from_the_fourth_on() {
    let mut receiver = receiver(DelayedAckParams::default());
    receiver.on_established(ms(0));
    let mut out = |at, number| arrive(&mut receiver, at, &full(number));
    assert_eq!(out(ms(100), 2), Some((0, vec![(2, 3)])));
    assert_eq!(out(ms(100), 4), Some((0, vec![(4, 5), (2, 3)])));
    assert_eq!(out(ms(100), 5), Some((0, vec![(4, 6), (2, 3)])));
    assert_eq!(out(ms(100), 6), None);
    // Without a round-trip time, they wait for the slack of the timer.
    assert!(receiver.is_delaying());
    assert_eq!(receiver.next_deadline(), Time(100_100_000));
    // A third range lets them leave without it.
    assert_eq!(arrive(&mut receiver, ms(100), &full(8)), Some((0, vec![(4, 7), (2, 3)])));
    assert_eq!(receiver.next_deadline(), Time::NEVER);
    assert_eq!(arrive(&mut receiver, ms(101), &full(9)), None);
    let ack = receiver.on_deadline(ms(102)).expect("a compressed acknowledgement");
    assert_eq!(ack.sack.ranges(0).next(), Some((8 * 1460, 10 * 1460)));
    // What fills all holes is acknowledged at once.
    for number in [0, 1, 3] {
        assert!(arrive(&mut receiver, ms(103), &full(number)).is_some());
    }
    assert_eq!(arrive(&mut receiver, ms(103), &full(7)), Some((10, vec![])));
}

#[test]
fn acknowledgements_echo_the_last_segment_that_continues_what_is_acknowledged() {
    let mut receiver = receiver(DelayedAckParams::default());
    let mut echo = |milliseconds, number| {
        let sent = Time(milliseconds);
        receiver.on_segment(ms(100), &full(number), sent, Time::ZERO).map(|ack| ack.timestamp_echo.0)
    };
    // The first of two; then, out of order, none newer.
    assert_eq!([echo(1, 0), echo(2, 1)], [None, Some(1)]);
    assert_eq!([echo(3, 3), echo(4, 4), echo(5, 2)], [Some(1), Some(1), Some(5)]);
}
