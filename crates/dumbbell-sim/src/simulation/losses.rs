//! Lost segments of a connection that have not been repaired yet.

use dumbbell_units::Time;

/// First bytes of lost segments with the times of their losses, in ascending order. A loss may be recorded ahead of
/// its time.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses(Vec<(u64, Time)>);

impl Losses {
    /// The segment that begins at `seq` is lost at `at`. What lies below `snd_una` has been repaired.
    pub(super) fn note(&mut self, seq: u64, at: Time, snd_una: u64) {
        let repaired = self.0.partition_point(|&(lost, _)| lost < snd_una);
        self.0.drain(..repaired);
        let place = self.0.partition_point(|&loss| loss < (seq, at));
        self.0.insert(place, (seq, at));
    }

    /// Removes the losses up to `now`, and returns the number of affected segments from `snd_una` on.
    pub(super) fn take(&mut self, snd_una: u64, now: Time) -> usize {
        let mut segments = 0;
        let mut last = None;
        self.0.retain(|&(seq, at)| {
            if at <= now && seq >= snd_una && last != Some(seq) {
                segments += 1;
                last = Some(seq);
            }
            at > now
        });
        segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_counts_once_and_when_its_time_has_come() {
        let mut losses = Losses::default();
        for (seq, at) in [(3000, 5), (1000, 20), (2000, 7), (3000, 9), (0, 1)] {
            losses.note(seq, Time(at), 0);
        }
        // Of bytes from 1000 on, 2000 and 3000 are lost by then, 3000 twice.
        assert_eq!(losses.take(1000, Time(10)), 2);
        assert_eq!(losses.take(1000, Time(19)), 0);
        assert_eq!(losses.take(1000, Time(20)), 1);
    }

    #[test]
    fn repaired_segments_are_forgotten() {
        let mut losses = Losses::default();
        losses.note(1000, Time(1), 0);
        losses.note(2000, Time(2), 2000);
        assert_eq!(losses.0, [(2000, Time(2))]);
    }
}
