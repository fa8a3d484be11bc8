//! Traffic sources of flows.

mod datagrams;
mod workloads;

pub use datagrams::DatagramState;
pub use workloads::WorkloadState;

use crate::datagrams::cbr::ConstantRate;
use crate::datagrams::frames::Frames;
use crate::datagrams::media::Media;
use crate::datagrams::onoff::OnOff;
use crate::datagrams::ping::Ping;
use crate::datagrams::poisson::Poisson;
use crate::datagrams::video::Video;
use crate::tcplib::TcplibSource;
use crate::workloads::incast::Incast;
use crate::workloads::streaming::Streaming;
use crate::workloads::transfers::Transfers;
use crate::workloads::web::Web;
use dumbbell_units::{Bytes, params, tagged};

params! {
    /// Unlimited data.
    pub struct Greedy {}
}

params! {
    /// A transfer of fixed size, all of it available at the start.
    pub struct Transfer {
        /// Size of the transfer.
        size: Bytes = Bytes(1 << 20), "bytes", "[hengartner2000 §V]", |size| size.0 > 0, "a size above 0";
    }
}

tagged! {
    /// A traffic source with its parameters.
    pub enum SourceSpec by "kind" {
        /// A TCP connection that always has data to send.
        Greedy(Greedy) = "greedy",
        /// A TCP connection that transfers a given number of bytes.
        Transfer(Transfer) = "transfer",
        /// Conversations of the tcplib mix, each on its own TCP connection.
        Tcplib(TcplibSource) = "tcplib",
        /// Transfers that arrive over time, each on its own TCP connection.
        Transfers(Transfers) = "transfers",
        /// Web pages: a document and its objects over several TCP connections.
        Web(Web) = "web",
        /// Adaptive video in segments over one TCP connection.
        Streaming(Streaming) = "streaming",
        /// Requests that many senders answer at the same time, each over its TCP connection.
        Incast(Incast) = "incast",
        /// Unresponsive datagrams at a constant rate.
        ConstantRate(ConstantRate) = "cbr",
        /// Unresponsive datagrams with exponential gaps.
        Poisson(Poisson) = "poisson",
        /// Unresponsive datagrams in exponential bursts with exponential pauses.
        OnOff(OnOff) = "onoff",
        /// Unresponsive synthetic video.
        Video(Video) = "video",
        /// Unresponsive video with given frame sizes.
        Frames(Frames) = "frames",
        /// Real-time media in datagrams whose rate adapts to loss and delay.
        Media(Media) = "media",
        /// Probes that are answered, for round-trip times beside other flows.
        Ping(Ping) = "ping",
    }
}

impl Default for SourceSpec {
    fn default() -> Self {
        SourceSpec::Greedy(Greedy::default())
    }
}
