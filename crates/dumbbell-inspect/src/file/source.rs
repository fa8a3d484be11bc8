//! The bytes of a capture, decompressed, and how many were read.

use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufReader, Cursor, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Bytes that are read from the file at once.
const AT_ONCE: usize = 1 << 18;
/// How a file of `gzip` begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What happened below the packets. The reader of packets sees an end where a read fails, and asks here.
#[derive(Debug, Default)]
pub(super) struct Progress {
    read: AtomicU64,
    /// The file could not be read.
    failed: OnceLock<io::Error>,
    /// The compressed stream is cut or damaged.
    broken: OnceLock<io::Error>,
}

impl Progress {
    /// Bytes of the file that were read.
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Why the file could not be read to its end.
    pub(super) fn failed(&self) -> Option<&io::Error> {
        self.failed.get()
    }

    /// Why its compressed stream could not be read to its end. It was cut if the kind is an unexpected end.
    pub(super) fn broken(&self) -> Option<&io::Error> {
        self.broken.get()
    }
}

/// Counts what is read. An error is remembered and given on.
struct Counted<R> {
    inner: R,
    progress: Arc<Progress>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.inner.read(buffer) {
                Ok(count) => {
                    self.progress.read.fetch_add(count as u64, Ordering::Relaxed);
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let kind = error.kind();
                    let _ = self.progress.failed.set(error);
                    return Err(kind.into());
                }
            }
        }
    }
}

/// Ends where a read fails, and remembers why.
struct Ending<R> {
    inner: R,
    progress: Arc<Progress>,
}

impl<R: Read> Read for Ending<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.progress.broken.get().is_some() {
            return Ok(0);
        }
        Ok(self.inner.read(buffer).unwrap_or_else(|error| {
            let _ = self.progress.broken.set(error);
            0
        }))
    }
}

/// Fills what it is given, also where each read below gives little.
struct Filling<R>(R);

impl<R: Read> Read for Filling<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.0.read(&mut buffer[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    }
}

/// The start of a file that is being read.
pub(super) struct Source {
    /// Its decompressed bytes, by reads that do not fail.
    pub(super) bytes: Box<dyn Read + Send>,
    pub(super) progress: Arc<Progress>,
    /// The first four of the bytes, or fewer if there are no more.
    pub(super) magic: Vec<u8>,
}

/// Opens a file, compressed or not.
pub(super) fn source(file: impl Read + Send + 'static) -> Source {
    let progress = Arc::new(Progress::default());
    let mut counted = Counted { inner: file, progress: Arc::clone(&progress) };
    let mut start = Vec::with_capacity(GZIP.len());
    // An error is remembered, and comes again.
    let _ = (&mut counted).take(GZIP.len() as u64).read_to_end(&mut start);
    let is_gzip = start == GZIP;
    let buffered = BufReader::with_capacity(AT_ONCE, Cursor::new(start).chain(counted));
    let inner: Box<dyn Read + Send> =
        if is_gzip { Box::new(MultiGzDecoder::new(buffered)) } else { Box::new(buffered) };
    let mut bytes = Ending { inner, progress: Arc::clone(&progress) };
    let mut magic = Vec::with_capacity(4);
    let _ = (&mut bytes).take(4).read_to_end(&mut magic);
    let bytes = Box::new(Filling(Cursor::new(magic.clone()).chain(bytes)));
    Source { bytes, progress, magic }
}
