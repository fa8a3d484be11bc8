//! A QUIC session without encryption: packets keep their sizes, and their content is readable.
//!
//! Each side sends its transport parameters and, once it has keys, one message that ends its part of the handshake. Keys
//! leave packets as they are, but for a tag that tells their numbers. This is no TLS: both sides must use it.

use bytes::{BufMut, BytesMut};
use dumbbell_units::random::{bytes_hash, words_hash};
use quinn_proto::crypto::{
    self, AeadKey, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair,
    Keys, PacketKey, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use std::any::Any;
use std::sync::Arc;

/// Length of the authentication tag of AES-128-GCM and its siblings, in bytes (RFC 9001 §5.3).
const TAG: usize = 16;
/// Length of the sample of a protected header, in bytes (RFC 9001 §5.4.2).
const SAMPLE: usize = 16;
/// The message by which a side ends its part of the handshake.
const FINISHED: &[u8] = b"finished";

/// The configuration of both sides, which has nothing to configure.
#[derive(Clone, Copy, Debug)]
pub struct Null;

impl crypto::ClientConfig for Null {
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        Ok(Box::new(Session::new(Side::Client, params)))
    }
}

impl crypto::ServerConfig for Null {
    fn initial_keys(&self, _version: u32, _dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: &ConnectionId, _packet: &[u8]) -> [u8; TAG] {
        [0; TAG]
    }

    fn start_session(
        self: Arc<Self>,
        _version: u32,
        params: &TransportParameters,
    ) -> Box<dyn crypto::Session> {
        Box::new(Session::new(Side::Server, params))
    }
}

/// What a side writes next, or that it waits for the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Hello,
    HandshakeKeys,
    Finished,
    Nothing,
}

/// A session of one side.
struct Session {
    side: Side,
    own: Vec<u8>,
    received: Vec<u8>,
    peer: Option<TransportParameters>,
    next: Next,
    is_finished_by_peer: bool,
}

impl Session {
    fn new(side: Side, params: &TransportParameters) -> Self {
        let mut own = Vec::new();
        params.write(&mut own);
        let next = if side == Side::Client { Next::Hello } else { Next::Nothing };
        Session { side, own, received: Vec::new(), peer: None, next, is_finished_by_peer: false }
    }

    /// Takes the next message of the peer, once all of its bytes are there.
    fn take_message(&mut self) -> Option<Vec<u8>> {
        let (length, rest) = self.received.split_at_checked(2)?;
        let end = usize::from(u16::from_be_bytes([length[0], length[1]])) + 2;
        let message = rest.get(..end - 2)?.to_vec();
        self.received.drain(..end);
        Some(message)
    }
}

/// Appends a message with its length.
fn put_message(buffer: &mut Vec<u8>, message: &[u8]) {
    buffer.put_u16(message.len() as u16);
    buffer.extend_from_slice(message);
}

impl crypto::Session for Session {
    fn initial_keys(&self, _dst_cid: &ConnectionId, _side: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        !self.is_finished_by_peer || self.next != Next::Nothing
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.received.extend_from_slice(buf);
        let had_parameters = self.peer.is_some();
        while let Some(message) = self.take_message() {
            if self.peer.is_none() {
                self.peer = Some(TransportParameters::read(self.side, &mut message.as_slice())?);
                self.next = if self.side == Side::Client { Next::HandshakeKeys } else { Next::Hello };
            } else {
                self.is_finished_by_peer = true;
                if self.side == Side::Client {
                    self.next = Next::Finished;
                }
            }
        }
        Ok(!had_parameters && self.peer.is_some())
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        match self.next {
            Next::Hello => {
                put_message(buf, &self.own);
                let is_server = self.side == Side::Server;
                self.next = if is_server { Next::Finished } else { Next::Nothing };
                is_server.then(keys)
            }
            Next::HandshakeKeys => {
                self.next = Next::Nothing;
                Some(keys())
            }
            Next::Finished => {
                put_message(buf, FINISHED);
                self.next = Next::Nothing;
                Some(keys())
            }
            Next::Nothing => None,
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(keys().packet)
    }

    fn is_valid_retry(&self, _orig_dst_cid: &ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        true
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        output.fill(0);
        Ok(())
    }
}

/// A key that does nothing.
#[derive(Clone, Copy, Debug)]
struct NoKey;

fn keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(NoKey), remote: Box::new(NoKey) },
        packet: KeyPair { local: Box::new(NoKey), remote: Box::new(NoKey) },
    }
}

impl HeaderKey for NoKey {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}
    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        SAMPLE
    }
}

/// What stands in the place of an authentication tag. As with a real one, a packet whose number was restored wrongly after
/// long reordering (RFC 9000 §17.1) is dropped.
fn tag_of(packet: u64, header: &[u8]) -> [u8; TAG] {
    let mut tag = [0; TAG];
    tag[..8].copy_from_slice(&packet.to_be_bytes());
    tag[8..].copy_from_slice(&words_hash(header).to_be_bytes());
    tag
}

impl PacketKey for NoKey {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let Some(tag_at) = buf.len().checked_sub(TAG).filter(|at| *at >= header_len) else { return };
        let tag = tag_of(packet, &buf[..header_len]);
        buf[tag_at..].copy_from_slice(&tag);
    }

    fn decrypt(&self, packet: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let tag_at = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        if payload[tag_at..] != tag_of(packet, header) {
            return Err(CryptoError);
        }
        payload.truncate(tag_at);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }
    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }
    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

/// A key of tokens, which endpoints send to strangers: a hash with a seed. Nobody attacks simulated endpoints.
#[derive(Clone, Copy, Debug)]
pub struct TokenKey(pub u64);

impl TokenKey {
    fn hash(self, data: &[u8]) -> [u8; TAG] {
        let mut words = [0; TAG];
        let first = bytes_hash(data) ^ self.0;
        words[..8].copy_from_slice(&first.to_be_bytes());
        words[8..].copy_from_slice(&bytes_hash(&first.to_be_bytes()).to_be_bytes());
        words
    }
}

impl HmacKey for TokenKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        signature_out.copy_from_slice(&self.hash(data));
    }

    fn signature_len(&self) -> usize {
        TAG
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        (signature == self.hash(data)).then_some(()).ok_or(CryptoError)
    }
}

impl HandshakeTokenKey for TokenKey {
    fn aead_from_hkdf(&self, _random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(*self)
    }
}

impl AeadKey for TokenKey {
    fn seal(&self, _data: &mut Vec<u8>, _additional_data: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _additional_data: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_with_a_wrongly_restored_number_or_another_header_is_dropped() {
        let mut packet = b"header-content-".to_vec();
        packet.extend([0; TAG]);
        PacketKey::encrypt(&NoKey, 70_000, &mut packet, 7);
        let open = |number, header: &[u8]| {
            let mut payload = BytesMut::from(&packet[7..]);
            PacketKey::decrypt(&NoKey, number, header, &mut payload).map(|()| payload.to_vec())
        };
        assert_eq!(open(70_000, b"header-").ok().as_deref(), Some(&b"content-"[..]));
        assert!(open(70_000 - (1 << 16), b"header-").is_err());
        assert!(open(70_000, b"Header-").is_err());
    }
}
