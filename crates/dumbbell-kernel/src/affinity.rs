//! Guest and engine on one processor: they never run at the same time, and waking each other costs ten times as much
//! between processors.

use rustix::process::Pid;
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The threads that are bound to a processor.
static BOUND: Mutex<BTreeMap<i32, Bound>> = Mutex::new(BTreeMap::new());

#[derive(Clone, Copy)]
struct Bound {
    processor: usize,
    before: CpuSet,
    holders: usize,
}

/// The calling thread stays on one processor while this exists, and what it starts does so for good.
#[derive(Debug)]
pub struct OnOneProcessor {
    thread: Pid,
}

impl OnOneProcessor {
    /// Binds the calling thread to the processor on which it runs, or to one to which fewer threads are bound. `None`
    /// if the system does not allow that.
    pub fn here() -> Option<Self> {
        let thread = gettid();
        let mut all = BOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bound) = all.get_mut(&thread.as_raw_nonzero().get()) {
            bound.holders += 1;
            return Some(OnOneProcessor { thread });
        }
        let before = sched_getaffinity(None).ok()?;
        let here = sched_getcpu();
        let load = |processor| all.values().filter(|bound| bound.processor == processor).count();
        let processor = (0..CpuSet::MAX_CPU)
            .filter(|processor| before.is_set(*processor))
            .min_by_key(|processor| (load(*processor), *processor != here))?;
        let mut only = CpuSet::new();
        only.set(processor);
        sched_setaffinity(None, &only).ok()?;
        all.insert(thread.as_raw_nonzero().get(), Bound { processor, before, holders: 1 });
        Some(OnOneProcessor { thread })
    }
}

impl Drop for OnOneProcessor {
    fn drop(&mut self) {
        let mut all = BOUND.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.thread.as_raw_nonzero().get();
        let Some(bound) = all.get_mut(&number) else { return };
        bound.holders -= 1;
        if bound.holders == 0 {
            // The thread may have ended.
            let _ = sched_setaffinity(Some(self.thread), &bound.before);
            all.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_free_again_after_the_last_holder() {
        let before = sched_getaffinity(None).expect("an affinity").count();
        let (first, second) = (OnOneProcessor::here(), OnOneProcessor::here());
        assert!(first.is_some() && second.is_some());
        assert_eq!(sched_getaffinity(None).expect("an affinity").count(), 1);
        drop(first);
        assert_eq!(sched_getaffinity(None).expect("an affinity").count(), 1);
        // The last one may be dropped on another thread.
        std::thread::spawn(move || drop(second)).join().expect("no panic");
        assert_eq!(sched_getaffinity(None).expect("an affinity").count(), before);
    }
}
