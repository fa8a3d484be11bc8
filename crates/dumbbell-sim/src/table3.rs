//! The replay of [hengartner2000 table III]: how a timeout makes the released Vegas break its
//! invariant, and how the corrected one keeps it. The events are fed to the engine's own Vegas.

use dumbbell_cc::algorithms::vegas::{Vegas, VegasParams};
use dumbbell_cc::{Ack, CongestionControl, Context, Control, Mechanisms, Setup};
use dumbbell_tcp::TcpParams;
use dumbbell_units::Time;

/// One row of the table, in segments.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What happened.
    pub event: &'static str,
    /// Numerator of the expected rate (eq. 3), where a check fell due.
    pub eq3: Option<f64>,
    /// Numerator of the actual rate (eq. 4), where a check fell due.
    pub eq4: Option<f64>,
    /// First segment of the round being measured.
    pub beg_seq: u64,
    /// Next segment to send.
    pub snd_nxt: u64,
    /// Oldest unacknowledged segment.
    pub snd_una: u64,
}

struct Replay {
    vegas: Vegas,
    snd_nxt: u64,
    snd_una: u64,
    now: u64,
    rows: Vec<Row>,
}

impl Replay {
    fn context(&self) -> Context {
        Context::new(Time(self.now), 1.0)
            .with_sent(self.snd_una, self.snd_nxt)
            .with_max_window(1000.0)
            .with_loss_window(2.0)
    }

    fn acknowledge(&mut self, event: &'static str, ack: u64) {
        self.now += 100_000_000;
        let acked = ack - self.snd_una;
        self.vegas.on_ack(&self.context(), &Ack::new(ack, acked));
        self.snd_una = ack;
        self.snd_nxt = self.snd_nxt.max(ack);
        self.row(event, true);
    }

    fn row(&mut self, event: &'static str, checked: bool) {
        let check = self.vegas.last_check();
        self.rows.push(Row {
            event,
            eq3: checked.then_some(check.window_size),
            eq4: checked.then_some(check.rtt_len),
            beg_seq: self.vegas.beg_seq(),
            snd_nxt: self.snd_nxt,
            snd_una: self.snd_una,
        });
    }
}

/// Replays the table with the released Vegas, or with the corrected one.
pub fn replay(corrected: bool) -> Vec<Row> {
    let params = VegasParams {
        fix_timeout: corrected,
        fix_base_rtt: corrected,
        fix_invariant: corrected,
        ..VegasParams::default()
    };
    let setup = Setup::new(Time::ZERO, 1.0, 5.0)
        .with_initial_ssthresh(2.0)
        .with_rules(TcpParams::default().window)
        .with_mechanisms(Mechanisms::from_bits(0b1_1111_1111));
    let mut replay =
        Replay { vegas: Vegas::new(&params, &setup), snd_nxt: 5, snd_una: 0, now: 0, rows: Vec::new() };
    // Segments 0 to 4 are acknowledged, which begins a round at 5; 5 to 9 are sent and 5 is lost.
    replay.acknowledge("0-4 acknowledged", 5);
    replay.rows.clear();
    replay.snd_nxt = 10;
    replay.row("timeout", false);
    // The sender goes back to 5 and sends 5 and 6 again.
    replay.snd_nxt = 7;
    replay.row("send 5 and 6", false);
    replay.acknowledge("9 acknowledged", 10);
    replay.snd_nxt = 13;
    replay.row("send 10-12", false);
    replay.acknowledge("10 acknowledged", 11);
    replay.rows
}

#[cfg(test)]
mod tests {
    use super::*;

    type Numbers = (Option<f64>, Option<f64>, u64, u64, u64);

    fn numbers(corrected: bool) -> Vec<Numbers> {
        let row = |row: Row| (row.eq3, row.eq4, row.beg_seq, row.snd_nxt, row.snd_una);
        replay(corrected).into_iter().map(row).collect()
    }

    #[test]
    fn the_released_vegas_breaks_its_invariant_as_printed() {
        assert_eq!(
            numbers(false),
            [
                (None, None, 5, 10, 5),
                (None, None, 5, 7, 5),
                (Some(-2.0), Some(2.0), 7, 10, 10),
                (None, None, 7, 13, 10),
                (Some(3.0), Some(6.0), 13, 13, 11),
            ]
        );
    }

    #[test]
    fn the_corrected_vegas_keeps_it() {
        let rows = numbers(true);
        assert_eq!((rows[2].0, rows[2].1, rows[2].2), (Some(2.0), Some(2.0), 10));
        assert_eq!((rows[4].0, rows[4].1), (Some(3.0), Some(3.0)));
    }
}
