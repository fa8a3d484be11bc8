//! TLS 1.3 of the library rustls, with keys that repeat.
//!
//! Random numbers come from the stream of the connection that is at work, set by [`with_random`]; the key exchange takes
//! its private key from there, since that of rustls draws from the system. The time of day stands still. The
//! certificate is that of the file beside this one, whose key is public: nothing here is a secret. The key log opens
//! captures of a run.

use super::fill;
use dumbbell_units::Stream;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::crypto::{ClientConfig, ServerConfig};
use quinn_proto::rustls;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::{cipher_suite, default_provider};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret, SupportedKxGroup,
    verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, KeyLog, NamedGroup, PeerMisbehaved, SignatureScheme,
};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use x25519_dalek::{PublicKey, StaticSecret};

/// The certificate of receivers: self-signed, for Ed25519, whose signatures need no random numbers.
const CERTIFICATE: &[u8] = include_bytes!("receiver.cert.der");
/// Its key.
const KEY: &[u8] = include_bytes!("receiver.key.der");
/// The application protocol, which HTTP servers call their tests.
const PROTOCOL: &[u8] = b"hq-interop";
/// The time of day: within the validity of the certificate.
const NOW: Duration = Duration::from_secs(1_800_000_000);

thread_local! {
    /// The random numbers of the connection at work.
    static RANDOM: RefCell<Option<Stream>> = const { RefCell::new(None) };
}

/// Runs what may need random numbers, which are taken from this stream.
pub fn with_random<T>(random: &mut Stream, run: impl FnOnce() -> T) -> T {
    RANDOM.set(Some(random.clone()));
    let result = run();
    if let Some(used) = RANDOM.take() {
        *random = used;
    }
    result
}

/// Random numbers of the connection at work.
#[derive(Debug)]
struct OfConnection;

impl SecureRandom for OfConnection {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        RANDOM
            .with_borrow_mut(|random| random.as_mut().map(|random| fill(random, buf)))
            .ok_or(GetRandomFailed)
    }
}

/// The key exchange X25519 (RFC 7748).
#[derive(Debug)]
struct X25519;

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut secret = [0; 32];
        OfConnection.fill(&mut secret)?;
        let secret = StaticSecret::from(secret);
        let public = PublicKey::from(&secret);
        Ok(Box::new(Exchange { secret, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// A key exchange under way.
struct Exchange {
    secret: StaticSecret,
    public: PublicKey,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        let peer: [u8; 32] = peer_pub_key.try_into().map_err(|_| PeerMisbehaved::InvalidKeyShare)?;
        let shared = self.secret.diffie_hellman(&PublicKey::from(peer));
        Ok(SharedSecret::from(shared.as_bytes().as_slice()))
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_bytes()
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// Accepts the certificate above and no other.
#[derive(Debug)]
struct Pinned(Arc<CryptoProvider>);

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let is_known = end_entity.as_ref() == CERTIFICATE;
        is_known.then(ServerCertVerified::assertion).ok_or(CertificateError::UnknownIssuer.into())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC has TLS 1.3".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

/// A clock that stands still.
#[derive(Debug)]
struct Still;

impl TimeProvider for Still {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(NOW))
    }
}

/// The key log, as programs write it into the file that `SSLKEYLOGFILE` names.
#[derive(Clone, Debug, Default)]
pub struct Keys(Arc<Mutex<String>>);

impl Keys {
    /// Takes the lines that are new.
    pub fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl KeyLog for Keys {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hexadecimal =
            |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        let line = format!("{label} {} {}\n", hexadecimal(client_random), hexadecimal(secret));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(&line);
    }
}

/// The configurations of clients and servers.
type Ends = (Arc<dyn ClientConfig>, Arc<dyn ServerConfig>);

/// The configuration of both ends, whose keys go to the log.
///
/// # Errors
///
/// The library refuses: why.
pub fn sessions(log: &Keys) -> Result<Ends, String> {
    let provider = Arc::new(CryptoProvider {
        cipher_suites: vec![cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![&X25519],
        secure_random: &OfConnection,
        ..default_provider()
    });
    let versions = [&rustls::version::TLS13];
    let refused = |error: Error| error.to_string();
    let mut client = rustls::ClientConfig::builder_with_details(Arc::clone(&provider), Arc::new(Still))
        .with_protocol_versions(&versions)
        .map_err(refused)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Pinned(Arc::clone(&provider))))
        .with_no_client_auth();
    client.alpn_protocols = vec![PROTOCOL.to_vec()];
    client.resumption = Resumption::disabled();
    client.key_log = Arc::new(log.clone());
    let mut server = rustls::ServerConfig::builder_with_details(provider, Arc::new(Still))
        .with_protocol_versions(&versions)
        .map_err(refused)?
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(CERTIFICATE)], PrivatePkcs8KeyDer::from(KEY).into())
        .map_err(refused)?;
    server.alpn_protocols = vec![PROTOCOL.to_vec()];
    server.send_tls13_tickets = 0;
    let client = QuicClientConfig::try_from(client).map_err(|error| error.to_string())?;
    let server = QuicServerConfig::try_from(server).map_err(|error| error.to_string())?;
    Ok((Arc::new(client), Arc::new(server)))
}
