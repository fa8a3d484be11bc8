//! What a link records on request: queueing times as a distribution in fixed memory, and samples for probes.

use crate::link_stats::BacklogChange;
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

/// What a link records.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Changes of the backlog since the last call of `take_changes`, if a probe requests them.
    backlog_changes: Option<Vec<BacklogChange>>,
    /// Queueing times and marks since the last call of `take_samples`, if a probe requests them.
    pub(crate) samples: Option<Samples>,
    /// Distribution of queueing times.
    pub(crate) waits: Option<Waits>,
}

impl Records {
    /// Nothing but a distribution of queueing times, if the link has one.
    pub(crate) fn of(waits: Option<Waits>) -> Self {
        Records { waits, ..Records::default() }
    }

    /// Records every change of the backlog for [`take_changes`](Self::take_changes).
    pub fn trace_backlog(&mut self) {
        self.backlog_changes = Some(Vec::new());
    }

    /// Records every mark, and every queueing time if requested, for [`take_samples`](Self::take_samples).
    pub fn trace_samples(&mut self, with_waits: bool) {
        self.samples = Some(Samples::new(with_waits));
    }

    /// Number of changes of the backlog, queueing times and marks recorded so far.
    pub fn samples(&self) -> usize {
        self.backlog_changes.as_ref().map_or(0, Vec::len) + self.samples.as_ref().map_or(0, Samples::len)
    }

    /// Changes of the backlog so far.
    pub fn take_changes(&mut self) -> Vec<BacklogChange> {
        self.backlog_changes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Queueing times and marks so far.
    pub fn take_samples(&mut self) -> Samples {
        self.samples.as_mut().map(Samples::take).unwrap_or_default()
    }

    /// Records the backlog if a probe requests it.
    #[inline]
    pub(crate) fn note_backlog(&mut self, at: Time, waiting: usize) {
        if let Some(changes) = &mut self.backlog_changes {
            changes.push(BacklogChange { at, waiting });
        }
    }
}
