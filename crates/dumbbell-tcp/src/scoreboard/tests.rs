//! The scoreboard by hand-worked reports and acknowledgements.

use super::*;

fn ten_segments() -> Scoreboard {
    let mut scoreboard = Scoreboard::default();
    (0..10).for_each(|n| scoreboard.push(n * 100, 100, Time(n)));
    scoreboard
}

#[test]
fn a_hole_is_lost_with_more_than_two_segments_reported_above() {
    let mut scoreboard = ten_segments();
    scoreboard.report(0, 200, 400, Time(20));
    assert!(!scoreboard.is_head_lost());
    scoreboard.report(0, 400, 500, Time(20));
    assert!(scoreboard.is_head_lost());
    scoreboard.begin_recovery();
    // Of ten segments, three are reported and two lost: five are in the pipe.
    assert_eq!(scoreboard.pipe(), 500);
    assert_eq!(scoreboard.next_lost(), Some(0));
    scoreboard.mark_resent(0, Time(20));
    assert_eq!(scoreboard.pipe(), 600);
    assert_eq!(scoreboard.next_lost(), Some(1));
    scoreboard.mark_resent(1, Time(21));
    assert_eq!(scoreboard.next_lost(), None);
    assert_eq!(scoreboard.next_unreported(), None);
    assert_eq!(scoreboard.rescue(), Some(9));
    assert_eq!(scoreboard.rescue(), None);
}

#[test]
fn a_lost_retransmission_is_a_hole_again_and_counts_again() {
    let mut scoreboard = ten_segments();
    scoreboard.report(0, 100, 500, Time(20));
    scoreboard.begin_recovery();
    assert_eq!((scoreboard.lost(), scoreboard.delivered(), scoreboard.pipe()), (100, 400, 500));
    assert_eq!(scoreboard.next_lost(), Some(0));
    scoreboard.mark_resent(0, Time(20));
    assert_eq!((scoreboard.next_lost(), scoreboard.pipe()), (None, 600));
    scoreboard.mark_lost(0);
    assert_eq!((scoreboard.next_lost(), scoreboard.pipe(), scoreboard.lost()), (Some(0), 500, 200));
    // A reported segment is not lost. It is delivered once, even if reports are cleared and it is acknowledged
    // later.
    scoreboard.mark_lost(2);
    scoreboard.clear_sacked();
    scoreboard.acknowledge(1000, Time(30));
    assert_eq!((scoreboard.lost(), scoreboard.delivered()), (200, 1000));
}

#[test]
fn a_retransmission_above_the_highest_report_that_is_lost_is_no_hole_below_it() {
    let mut scoreboard = ten_segments();
    scoreboard.report(0, 100, 500, Time(20));
    scoreboard.begin_recovery();
    scoreboard.mark_resent(0, Time(20));
    scoreboard.mark_lost(5);
    scoreboard.mark_resent(5, Time(21));
    assert_eq!(scoreboard.next_lost(), None);
    scoreboard.mark_lost(5);
    assert_eq!((scoreboard.next_unreported(), scoreboard.next_lost()), (None, Some(5)));
}

#[test]
fn any_segment_may_be_marked_lost() {
    let mut scoreboard = ten_segments();
    scoreboard.report(0, 800, 900, Time(20));
    scoreboard.begin_recovery();
    // One report above a hole does not make it lost; reordering time marks the sixth and then the fourth.
    assert_eq!(scoreboard.next_lost(), None);
    scoreboard.mark_lost(5);
    assert_eq!((scoreboard.next_lost(), scoreboard.pipe(), scoreboard.lost()), (Some(5), 800, 100));
    scoreboard.mark_resent(5, Time(21));
    assert_eq!((scoreboard.next_lost(), scoreboard.pipe()), (None, 900));
    scoreboard.mark_lost(3);
    assert_eq!(scoreboard.next_lost(), Some(3));
    scoreboard.mark_resent(3, Time(22));
    // The third rule still finds the holes that are not lost.
    assert_eq!((scoreboard.next_lost(), scoreboard.next_unreported()), (None, Some(0)));
    let losses: Vec<u64> = std::iter::from_fn(|| scoreboard.take_loss()).map(|lost| lost.seq).collect();
    assert_eq!(losses, [500, 300]);
}

#[test]
fn reported_and_lost_segments_are_not_in_the_network() {
    let mut scoreboard = ten_segments();
    scoreboard.report(0, 200, 500, Time(20));
    // Two segments are lost, three reported.
    assert_eq!(scoreboard.in_network(10), 500);
    scoreboard.mark_resent(0, Time(20));
    assert_eq!(scoreboard.in_network(10), 600);
    // A segment that is not lost counts once, however often it was sent.
    scoreboard.mark_resent(9, Time(21));
    assert_eq!(scoreboard.in_network(10), 600);
    assert_eq!(scoreboard.in_network(3), 100);
}

#[test]
fn three_separate_reports_make_a_hole_lost() {
    let mut scoreboard = ten_segments();
    scoreboard.report(0, 100, 200, Time(20));
    scoreboard.report(0, 300, 400, Time(20));
    assert!(!scoreboard.is_head_lost());
    scoreboard.report(0, 500, 600, Time(20));
    assert!(scoreboard.is_head_lost());
}

#[test]
fn the_pipe_agrees_with_a_full_recount() {
    let mut random = dumbbell_units::Stream::new(5, 0, "outstanding");
    for _ in 0..500 {
        let mut scoreboard = ten_segments();
        scoreboard.begin_recovery();
        let mut ack = 0;
        for step in 0..30 {
            let seq = (random.uniform() * 11.0) as u64 * 100;
            match (random.uniform() * 4.0) as u64 {
                0 => {
                    scoreboard.report(0, seq, seq + 100 * (1 + step % 3), Time(20));
                }
                1 => {
                    ack = seq.max(ack).min(1000);
                    scoreboard.acknowledge(ack, Time(20));
                }
                2 => {
                    if let Some(index) = scoreboard.next_lost() {
                        scoreboard.mark_resent(index, Time(step));
                    }
                }
                _ => {
                    if let Some(index) = scoreboard.next_unreported() {
                        scoreboard.mark_resent(index, Time(step));
                    }
                }
            }
            assert_eq!(scoreboard.pipe(), scoreboard.recount());
        }
    }
}

#[test]
fn the_pipe_agrees_with_a_full_recount_when_losses_are_detected_by_time() {
    let mut random = dumbbell_units::Stream::new(6, 0, "by time");
    for _ in 0..500 {
        let mut scoreboard = Scoreboard::default();
        scoreboard.detect_by_time();
        scoreboard.count_whole(150);
        (0..10).for_each(|n| scoreboard.push(n * 100, 100, Time(n)));
        let mut ack = 0;
        for step in 10..60 {
            let now = Time(step);
            let seq = (random.uniform() * 11.0) as u64 * 100;
            scoreboard.begin_ack(random.chance(0.5).then_some(Echo::exact(Time(step / 2))));
            match (random.uniform() * 8.0) as u64 {
                0 | 1 => {
                    scoreboard.report(0, seq, seq + 100 * (1 + step % 3), now);
                }
                2 => {
                    ack = seq.max(ack).min(1000);
                    scoreboard.acknowledge(ack, now);
                }
                3 | 4 => {
                    if let Some(index) = scoreboard.next_lost() {
                        scoreboard.mark_resent(index, now);
                    }
                }
                5 => scoreboard.lose_at_timeout(now, Time(2), random.chance(0.5)),
                6 if random.chance(0.2) => scoreboard.unmark_lost(),
                7 if random.chance(0.2) => scoreboard.clear_sacked(),
                _ => {}
            }
            let next = scoreboard.detect_losses(now, Time(step % 4));
            assert!(next > now, "{next} has come at {now}");
            assert_eq!(scoreboard.pipe(), scoreboard.recount());
            let reported = scoreboard.ring.iter().filter(|sent| sent.is_sacked()).count() as u64;
            assert_eq!(scoreboard.deliveries().unwrap().reported(), reported);
            // Whatever is lost and not retransmitted is found.
            let is_waiting = |sent: &Sent| sent.flags & (SACKED | LOST | RESENT) == LOST;
            assert_eq!(scoreboard.next_lost(), scoreboard.ring.iter().position(is_waiting));
        }
    }
}

#[test]
fn a_range_is_news_once_wherever_an_ack_repeats_it() {
    let mut scoreboard = ten_segments();
    let ack = |scoreboard: &mut Scoreboard, ranges: &[(u64, u64)]| {
        let reports = ranges.iter().enumerate();
        reports
            .map(|(number, &(start, end))| scoreboard.report(number, start, end, Time(20)))
            .collect::<Vec<_>>()
    };
    assert_eq!(ack(&mut scoreboard, &[(200, 300)]), [true]);
    // Moved by one place, in the same places, and back.
    assert_eq!(ack(&mut scoreboard, &[(400, 500), (200, 300)]), [true, false]);
    assert_eq!(ack(&mut scoreboard, &[(400, 500), (200, 300)]), [false, false]);
    assert_eq!(ack(&mut scoreboard, &[(200, 300), (400, 500)]), [false, false]);
    // A new range in the second place, and one that grows in the third.
    assert_eq!(ack(&mut scoreboard, &[(200, 300), (600, 700), (400, 500)]), [false, true, false]);
    assert_eq!(ack(&mut scoreboard, &[(200, 300), (600, 700), (400, 600)]), [false, false, true]);
    // Four segments are delivered; of the other six, the three below 400 are lost.
    assert_eq!((scoreboard.delivered(), scoreboard.pipe()), (400, 300));
    // Beyond what has been sent, it is news again once it has been.
    assert_eq!(ack(&mut scoreboard, &[(900, 1100)]), [true]);
    scoreboard.push(1000, 100, Time(21));
    assert_eq!(ack(&mut scoreboard, &[(900, 1100)]), [true]);
    // What is forgotten is news again, in any place.
    scoreboard.clear_sacked();
    assert_eq!(ack(&mut scoreboard, &[(900, 1100), (200, 300)]), [true, true]);
}

#[test]
fn a_partial_acknowledgement_of_reported_data_delivers_nothing_again() {
    for (is_reported, delivered) in [(false, [0, 60, 100]), (true, [100, 100, 100])] {
        let mut scoreboard = ten_segments();
        if is_reported {
            scoreboard.report(0, 0, 100, Time(20));
            // The receiver has given the data up.
            scoreboard.clear_sacked();
        }
        let seen = [0, 60, 100].map(|ack| {
            scoreboard.acknowledge(ack, Time(30));
            scoreboard.delivered()
        });
        assert_eq!(seen, delivered);
    }
}

#[test]
fn a_timeout_loses_the_oldest_segment_however_young_it_is() {
    let mut scoreboard = ten_segments();
    scoreboard.detect_by_time();
    scoreboard.lose_at_timeout(Time(9), Time(10), false);
    assert_eq!((scoreboard.lost(), scoreboard.next_lost()), (100, Some(0)));
}

#[test]
fn a_segment_that_is_not_full_counts_as_a_whole_one() {
    for by_report in [false, true] {
        let mut scoreboard = Scoreboard::default();
        scoreboard.count_whole(100);
        scoreboard.push(0, 100, Time(1));
        scoreboard.push(100, 30, Time(1));
        assert_eq!(scoreboard.pipe(), 200);
        if by_report {
            scoreboard.report(0, 100, 130, Time(2));
            assert_eq!(
                (scoreboard.pipe(), scoreboard.delivered(), scoreboard.delivered_counted()),
                (100, 30, 100)
            );
        }
        scoreboard.acknowledge(130, Time(3));
        assert_eq!(
            (scoreboard.pipe(), scoreboard.delivered(), scoreboard.delivered_counted()),
            (0, 130, 200)
        );
        assert_eq!(scoreboard.counted(3, 230), 300);
    }
}

#[test]
fn a_duplicate_of_what_was_sent_again_and_is_reported_was_out_of_order() {
    let reordered = |resent: bool, duplicate: (u64, u64)| {
        let mut scoreboard = Scoreboard::default();
        scoreboard.detect_by_time();
        (0..4).for_each(|n| scoreboard.push(n * 100, 100, Time(n)));
        if resent {
            scoreboard.mark_resent(1, Time(5));
        }
        scoreboard.begin_ack(None);
        scoreboard.report(0, 100, 400, Time(9));
        scoreboard.begin_ack(None);
        scoreboard.on_duplicate_of_reported(duplicate);
        scoreboard.deliveries().unwrap().reordered()
    };
    assert_eq!(reordered(true, (100, 200)), Some(100));
    assert_eq!((reordered(true, (200, 300)), reordered(false, (100, 200))), (None, None));
    assert_eq!((reordered(true, (0, 100)), reordered(true, (100, 150))), (None, None));
}
