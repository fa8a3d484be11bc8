//! QUIC of the library quinn [quinn0 lib.rs], as `quinn-proto`, its protocol without sockets.
//!
//! A connection carries its data in one stream after the other, from its client to its server. Deviations from an
//! application on a socket:
//!
//! * Nothing comes from the system's random generator: connection identifiers, tokens and packet numbers come from the
//!   random stream of the flow. BBR draws the phase of its gain cycle from the system, which only its pacing rate depends
//!   on; quinn does not read that rate, and it is shown without the cycle.
//! * The application writes what four windows take, so that little remains of endless data when it ends.
//! * MTU discovery, segmentation offload and keep-alives are off.

mod connection;
mod events;
mod null;
mod sessions;
#[cfg(feature = "tls")]
mod tls;
mod watched;

use crate::host::{Contradiction, Library, Surroundings};
use crate::pairs::{Opener, Writes};
use crate::wire::{Ports, Route, UDP_HEADERS};
pub use connection::Quic;
use connection::Setup;
use dumbbell_sim::transport::{End, Log};
use dumbbell_units::{Bytes as Size, Stream, Time, choice, params};
use events::Events;
use null::TokenKey;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, ConnectionId, ConnectionIdGenerator, Endpoint, EndpointConfig,
    IdleTimeout, NoneTokenStore, ServerConfig, TimeSource, TransportConfig, VarInt,
};
use sessions::{Random, Sessions};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use watched::Factory;

choice! {
    /// Congestion control of quinn.
    pub enum Congestion {
        /// CUBIC without HyStart.
        Cubic = "cubic",
        /// NewReno as in RFC 9002.
        NewReno = "newreno",
        /// BBR version 1; its pacing rate is not used.
        Bbr = "bbr",
    }
}

choice! {
    /// Session of quinn.
    pub enum Session {
        /// None: packets keep the sizes that encryption gives them.
        Null = "null",
        /// TLS 1.3 with keys that depend on the random stream of the flow only.
        Fixed = "fixed",
    }
}

params! {
    /// Parameters of quinn.
    pub struct QuinnParams {
        /// Congestion control.
        congestion: Congestion = Congestion::Cubic, "-", "[quinn0 TransportConfig]";
        /// Session: `fixed` encrypts packets, `null` saves the time.
        tls: Session = Session::Null, "-", "assumed";
        /// Size of the largest IP packet, headers included.
        mtu: Size = Size(1_500), "bytes", "RFC 894",
            |mtu| (1_228..=65_535).contains(&mtu.0), "1228 to 65535 bytes";
        /// Initial congestion window; that of the congestion control if not given.
        initial_window: Option<Size> = None, "bytes", "[quinn0 congestion]",
            |window| window.is_none_or(|window| window.0 > 0), "a size above 0";
        /// Most data that is buffered until it is acknowledged.
        send_window: Size = Size(32 << 20), "bytes", "assumed",
            |window| window.0 > 0 && window.0 < 1 << 62, "a size above 0";
        /// Most data that the receiver accepts ahead of what was read.
        receive_window: Size = Size(32 << 20), "bytes", "assumed",
            |window| window.0 > 0 && window.0 < 1 << 62, "a size above 0";
        /// Data is written in streams of this size: a receiver gives a connection up if one stream has more than 1024
        /// gaps.
        stream_size: Size = Size(2 << 20), "bytes", "assumed",
            |size| size.0 > 0, "a size above 0";
        /// Packets received without an acknowledgement before one is sent, by the extension for it; two packets are
        /// acknowledged at once if not given.
        ack_threshold: Option<u64> = None, "packets", "[quinn0 AckFrequencyConfig]",
            |packets| packets.is_none_or(|packets| packets < 1 << 62), "a number below 2^62";
        /// Packets sent after one that must be acknowledged before it is lost.
        packet_threshold: u64 = 3, "packets", "RFC 9002 §6.1.1",
            |packets| (3..=1_000_000).contains(packets), "3 to 1000000";
        /// Round-trip time before the first sample.
        initial_rtt: Time = Time(333_000_000), "s", "RFC 9002 §6.2.2",
            |rtt| rtt.0 > 0, "a time above 0";
        /// Send packets as ECN-capable, ECT(0).
        ecn: bool = true, "-", "RFC 9000 §13.4";
        /// The connection is given up after this long without a packet.
        idle_timeout: Time = Time(600_000_000_000), "s", "assumed",
            |timeout| timeout.0 >= 1_000_000 && timeout.0 < 1 << 62, "a time of at least 1 ms";
    }
}

/// Length of connection identifiers, in bytes: that of quinn, and the longest.
const IDENTIFIER: usize = 8;
const LONGEST_IDENTIFIER: usize = 20;

/// The library.
#[derive(Debug)]
pub struct Quinn;

impl Library for Quinn {
    const NAME: &'static str = "quinn";
    const SUMMARY: &'static str = "QUIC of the library quinn.";
    const CRATE: &'static str = "quinn-proto";
    const VERSION: &'static str = "0.11.19";
    const FEATURES: &'static [&'static str] = &[];
    type Params = QuinnParams;
    type Opener = Flow;

    fn contradiction(params: &QuinnParams) -> Option<Contradiction> {
        let is_missing = params.tls == Session::Fixed && !cfg!(feature = "tls");
        is_missing.then(|| ("tls", "\"null\": this build has no TLS".to_owned()))
    }

    fn begin(
        flow: u32,
        params: QuinnParams,
        random: Stream,
        surroundings: Surroundings,
    ) -> Result<Flow, String> {
        let mut client = transport(&params)?;
        let events = Events::attach(&mut client, surroundings);
        Ok(Flow {
            flow,
            random,
            base: surroundings.base,
            client: Arc::new(client),
            server: Arc::new(transport(&params)?),
            sessions: Sessions::new(params.tls)?,
            events,
            params,
        })
    }
}

/// The configuration of both ends.
fn transport(params: &QuinnParams) -> Result<TransportConfig, String> {
    let number = |value: u64| VarInt::from_u64(value).map_err(|error| error.to_string());
    let timeout = IdleTimeout::try_from(Duration::from_nanos(params.idle_timeout.0));
    let mut config = TransportConfig::default();
    config
        .initial_mtu((params.mtu.0 - UDP_HEADERS as u64) as u16)
        .mtu_discovery_config(None)
        .enable_segmentation_offload(false)
        .keep_alive_interval(None)
        .max_idle_timeout(Some(timeout.map_err(|error| error.to_string())?))
        .send_window(params.send_window.0)
        .stream_receive_window(number(params.receive_window.0)?)
        .receive_window(number(params.receive_window.0)?)
        .datagram_receive_buffer_size(None)
        .packet_threshold(params.packet_threshold as u32)
        .initial_rtt(Duration::from_nanos(params.initial_rtt.0))
        .congestion_controller_factory(congestion(params));
    if let Some(packets) = params.ack_threshold {
        let mut frequency = AckFrequencyConfig::default();
        frequency.ack_eliciting_threshold(number(packets)?);
        config.ack_frequency_config(Some(frequency));
    }
    Ok(config)
}

/// Builds the congestion control.
fn congestion(params: &QuinnParams) -> Arc<dyn ControllerFactory + Send + Sync> {
    macro_rules! watched {
        ($Config:ident) => {{
            let mut config = $Config::default();
            if let Some(window) = params.initial_window {
                config.initial_window(window.0);
            }
            Arc::new(Factory(Arc::new(config)))
        }};
    }
    match params.congestion {
        Congestion::Cubic => watched!(CubicConfig),
        Congestion::NewReno => watched!(NewRenoConfig),
        Congestion::Bbr => watched!(BbrConfig),
    }
}

/// Fills bytes from a random stream.
fn fill(random: &mut Stream, bytes: &mut [u8]) {
    for part in bytes.chunks_mut(4) {
        let word = (random.uniform() * (1_u64 << 32) as f64) as u32;
        part.copy_from_slice(&word.to_be_bytes()[..part.len()]);
    }
}

/// Some bytes of a random stream.
fn drawn<const N: usize>(random: &mut Stream) -> [u8; N] {
    let mut bytes = [0; N];
    fill(random, &mut bytes);
    bytes
}

/// Connection identifiers of a random stream.
struct Identifiers(Stream);

impl ConnectionIdGenerator for Identifiers {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&drawn::<IDENTIFIER>(&mut self.0))
    }

    fn cid_len(&self) -> usize {
        IDENTIFIER
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// The time of day, which tokens state: always the same.
struct Midnight;

impl TimeSource for Midnight {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

/// A flow.
#[derive(Debug)]
pub struct Flow {
    flow: u32,
    params: QuinnParams,
    random: Stream,
    base: Instant,
    client: Arc<TransportConfig>,
    server: Arc<TransportConfig>,
    sessions: Sessions,
    events: Events,
}

impl Flow {
    /// An endpoint with its own random numbers.
    fn endpoint(&mut self, server: Option<ServerConfig>) -> Result<Endpoint, String> {
        let key = u64::from_be_bytes(drawn(&mut self.random));
        let mut config = EndpointConfig::new(Arc::new(TokenKey(key)));
        let payload = (self.params.mtu.0 - UDP_HEADERS as u64) as u16;
        config.max_udp_payload_size(payload).map_err(|error| error.to_string())?;
        config.rng_seed(Some(drawn(&mut self.random)));
        let identifiers = self.random.fork();
        config.cid_generator(move || Box::new(Identifiers(identifiers.clone())));
        Ok(Endpoint::new(Arc::new(config), server.map(Arc::new), false, None))
    }
}

impl Opener for Flow {
    type Pair = Quic;

    fn open(&mut self, now: Time, ports: Ports, writes: Writes) -> Result<Quic, String> {
        let token_key = TokenKey(u64::from_be_bytes(drawn(&mut self.random)));
        let mut server_config = ServerConfig::new(self.sessions.server(), Arc::new(token_key));
        server_config.transport_config(Arc::clone(&self.server)).time_source(Arc::new(Midnight));
        let server = self.endpoint(Some(server_config))?;
        let mut client = self.endpoint(None)?;
        let first_identifier = ConnectionId::new(&drawn::<LONGEST_IDENTIFIER>(&mut self.random));
        let mut config = ClientConfig::new(self.sessions.client());
        config
            .transport_config(Arc::clone(&self.client))
            .token_store(Arc::new(NoneTokenStore))
            .initial_dst_cid_provider(Arc::new(move || first_identifier));
        let route = Route::of_flow(self.flow, ports);
        let now = self.base + Duration::from_nanos(now.0);
        let mut random = Random::new(self.params.tls, &mut self.random);
        let remote = SocketAddr::from(route.at(End::Receiver));
        let connected = random.provide(|| client.connect(now, config, remote, "receiver"));
        let connection = connected.map_err(|error| error.to_string())?;
        let (is_ecn_capable, stream_size) = (self.params.ecn, self.params.stream_size.0);
        let setup = Setup { route, base: self.base, is_ecn_capable, stream_size, random };
        Ok(Quic::new(setup, writes, (client, connection), server))
    }

    fn take_log(&mut self, log: Log) -> String {
        match log {
            Log::Keys => self.sessions.take_keys(),
            Log::Events => self.events.take(),
        }
    }
}
