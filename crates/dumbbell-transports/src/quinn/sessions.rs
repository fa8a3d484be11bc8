//! The sessions of a flow's connections.

use super::Session;
use super::null::Null;
#[cfg(feature = "tls")]
use super::tls;
use dumbbell_units::Stream;
use quinn_proto::crypto::{ClientConfig, ServerConfig};
use std::sync::Arc;

/// How both ends begin a session.
pub struct Sessions {
    client: Arc<dyn ClientConfig>,
    server: Arc<dyn ServerConfig>,
    #[cfg(feature = "tls")]
    log: tls::Keys,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}

impl Sessions {
    /// Sessions of this kind.
    ///
    /// # Errors
    ///
    /// The library refuses, or this build has no TLS: why, in one sentence.
    #[cfg(feature = "tls")]
    pub fn new(kind: Session) -> Result<Sessions, String> {
        let log = tls::Keys::default();
        let (client, server) = match kind {
            Session::Null => {
                (Arc::new(Null) as Arc<dyn ClientConfig>, Arc::new(Null) as Arc<dyn ServerConfig>)
            }
            Session::Fixed => tls::sessions(&log)?,
        };
        Ok(Sessions { client, server, log })
    }

    /// Sessions of this kind.
    ///
    /// # Errors
    ///
    /// This build has no TLS.
    #[cfg(not(feature = "tls"))]
    pub fn new(kind: Session) -> Result<Sessions, String> {
        match kind {
            Session::Null => Ok(Sessions { client: Arc::new(Null), server: Arc::new(Null) }),
            Session::Fixed => Err("this build has no TLS".to_owned()),
        }
    }

    /// That of clients.
    pub fn client(&self) -> Arc<dyn ClientConfig> {
        Arc::clone(&self.client)
    }

    /// That of servers.
    pub fn server(&self) -> Arc<dyn ServerConfig> {
        Arc::clone(&self.server)
    }

    /// Takes what is new in the key log.
    pub fn take_keys(&self) -> String {
        #[cfg(feature = "tls")]
        return self.log.take();
        #[cfg(not(feature = "tls"))]
        String::new()
    }
}

/// Random numbers for the session of a connection, if it needs some.
#[derive(Debug)]
pub struct Random(Option<Stream>);

impl Random {
    /// Those of a connection whose flow has this stream.
    pub fn new(kind: Session, random: &mut Stream) -> Random {
        Random((kind == Session::Fixed).then(|| random.fork()))
    }

    /// Runs what may draw from them.
    pub fn provide<T>(&mut self, run: impl FnOnce() -> T) -> T {
        match &mut self.0 {
            #[cfg(feature = "tls")]
            Some(random) => tls::with_random(random, run),
            _ => run(),
        }
    }
}
