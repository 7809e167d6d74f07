//! A stream that remembers when bytes last arrived, so that a large frame on a slow line is not taken for silence, and
//! silence is told as long as it was.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// How many bytes have arrived, and when the last did.
#[derive(Clone)]
pub(super) struct Arrived(Arc<Arrivals>);

struct Arrivals {
    bytes: AtomicU64,
    begin: Instant,
    /// In milliseconds from the beginning.
    last: AtomicU64,
}

impl Arrived {
    fn begin() -> Self {
        Self(Arc::new(Arrivals { bytes: AtomicU64::new(0), begin: Instant::now(), last: AtomicU64::new(0) }))
    }

    fn add(&self, bytes: usize) {
        let now = u64::try_from(self.0.begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.last.store(now, Ordering::Relaxed);
        self.0.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// How long nothing has arrived.
    pub(super) fn silence(&self) -> Duration {
        self.0.begin.elapsed().saturating_sub(Duration::from_millis(self.0.last.load(Ordering::Relaxed)))
    }
}

/// A TCP stream that counts what arrives.
pub(super) struct Watched {
    stream: TcpStream,
    arrived: Arrived,
}

impl Watched {
    pub(super) fn new(stream: TcpStream) -> (Self, Arrived) {
        let arrived = Arrived::begin();
        (Self { stream, arrived: arrived.clone() }, arrived)
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        let bytes = buf.filled().len() - before;
        if bytes > 0 {
            self.arrived.add(bytes);
        }
        polled
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
