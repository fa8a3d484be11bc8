//! The events of a flow's senders as qlog, which the library writes itself.

use crate::host::Surroundings;
use quinn_proto::TransportConfig;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Events that were not taken yet.
#[derive(Clone, Debug, Default)]
pub struct Events(Arc<Mutex<Vec<u8>>>);

impl Events {
    /// Attaches a log to the configuration of a side, if the host keeps it.
    #[cfg(feature = "qlog")]
    pub fn attach(config: &mut TransportConfig, surroundings: Surroundings) -> Events {
        let events = Events::default();
        if surroundings.keeps_qlog {
            // Its default reads the clock, for a time that is replaced at once.
            let mut qlog = quinn_proto::QlogConfig::default();
            qlog.writer(Box::new(events.clone())).start_time(surroundings.base);
            config.qlog_stream(qlog.into_stream());
        }
        events
    }

    /// This build has no log.
    #[cfg(not(feature = "qlog"))]
    pub fn attach(_config: &mut TransportConfig, _surroundings: Surroundings) -> Events {
        Events::default()
    }

    /// Takes what is new.
    pub fn take(&self) -> String {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for Events {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
