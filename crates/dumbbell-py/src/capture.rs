//! Files of packets and events that a run writes while it proceeds.

use crate::control::Fault;
use crate::many::limit;
use crate::refused;
use dumbbell_capture::files::{CaptureError, MAX_RECORDS};
use dumbbell_capture::{Files, Outputs};
use dumbbell_sim::Scenario;
use dumbbell_sim::capture::{Sighting, Tap, Watch};
use dumbbell_units::spec::SpecError;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The environment variable that states how many packets and events the files of a run may have.
const MAX_RECORDS_NAME: &str = "DUMBBELL_MAX_PACKETS";

/// What Python asks for: a node by its position with the file of its packets, how many bytes of each are kept, if
/// stated, and the file of events.
pub type Request = (Option<(usize, PathBuf)>, Option<u32>, Option<PathBuf>);

/// Writes what a run reports. A failure ends the run.
pub struct Recorder {
    files: Mutex<Files>,
    end: Arc<Fault>,
}

impl Recorder {
    /// Begins the files of a run.
    pub fn begin(scenario: &Scenario, request: Request, end: &Arc<Fault>) -> PyResult<Recorder> {
        let (packets, snaplen, events) = request;
        let max_records = limit(MAX_RECORDS_NAME, MAX_RECORDS)?;
        let outputs = Outputs { packets, snaplen, events, max_records };
        let files = Files::begin(scenario, &outputs).map_err(raised)?;
        Ok(Recorder { files: Mutex::new(files), end: Arc::clone(end) })
    }

    /// Completes the files. Returns the numbers of packets and of events.
    pub fn finish(self) -> PyResult<(u64, u64)> {
        self.files.into_inner().unwrap_or_else(PoisonError::into_inner).finish().map_err(raised)
    }
}

impl Tap for Recorder {
    fn watch(&self) -> Watch {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).watch()
    }

    fn take(&self, sightings: &mut dyn Iterator<Item = Sighting>) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        for sighting in sightings {
            if let Err(error) = files.write(&sighting) {
                self.end.set(raised(error));
                return;
            }
        }
    }

    fn take_keys(&self, keys: &str) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = files.write_keys(keys) {
            self.end.set(raised(error));
        }
    }
}

/// The exception: the file that cannot be written is stated as by `OSError`.
fn raised(error: CaptureError) -> PyErr {
    match error {
        CaptureError::Refused(error) => refused(&error),
        CaptureError::TooMany { max_records, at } => refused(&SpecError {
            field: "capture".to_owned(),
            value: format!("{} packets and events in the first {:.6} s", max_records + 1, at.secs()),
            accepted: format!(
                "at most {max_records} in a run: a shorter run, or a larger number in the environment variable \
                 {MAX_RECORDS_NAME}"
            ),
            suggestion: None,
        }),
        CaptureError::Failed { path, cause } => {
            PyOSError::new_err((cause.raw_os_error(), cause.to_string(), path))
        }
    }
}
