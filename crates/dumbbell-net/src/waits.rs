//! Queueing times of packets: distributions in fixed memory, and samples for probes.

use dumbbell_units::{Histogram, Time};

/// Queueing times of a link, and separately of the queues L and C of a dual queue.
#[derive(Clone, Debug)]
pub struct Waits {
    /// Those of all packets.
    pub all: Histogram,
    /// Those of L and C.
    pub dual: Option<[Histogram; 2]>,
}

impl Waits {
    pub(crate) fn new(is_dual: bool) -> Self {
        Waits { all: Histogram::default(), dual: is_dual.then(Default::default) }
    }

    #[inline]
    pub(crate) fn add(&mut self, queue: usize, wait: Time) {
        self.all.add(wait.0);
        if let Some(distribution) = self.dual.as_mut().and_then(|dual| dual.get_mut(queue)) {
            distribution.add(wait.0);
        }
    }
}

/// Queueing times and marks, for probes.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Whether queueing times are recorded.
    keeps_waits: bool,
    /// Beginnings of transmissions and the queueing times of their packets.
    pub waits: Vec<(Time, Time)>,
    /// Times of marks.
    pub marks: Vec<Time>,
}

impl Samples {
    pub(crate) fn new(keeps_waits: bool) -> Self {
        Samples { keeps_waits, ..Samples::default() }
    }

    /// Their number since the last call of `take`.
    pub(crate) fn len(&self) -> usize {
        self.waits.len() + self.marks.len()
    }

    /// Those since the last call.
    pub(crate) fn take(&mut self) -> Samples {
        std::mem::replace(self, Samples::new(self.keeps_waits))
    }

    /// A packet that entered at `entered` begins its transmission.
    #[inline]
    pub(crate) fn note_wait(&mut self, entered: Time, begins: Time) {
        if self.keeps_waits {
            self.waits.push((begins, begins.since(entered)));
        }
    }

    /// A packet that entered at `at` begins its transmission at `begins`, unless it was dropped.
    pub(crate) fn note(&mut self, at: Time, begins: Time, is_marked: bool, is_admitted: bool) {
        if is_admitted {
            self.note_wait(at, begins);
        }
        if is_marked {
            self.marks.push(at);
        }
    }
}
