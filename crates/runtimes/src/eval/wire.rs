//! Frames between the owner and the driver: four bytes of length, then JSON, an object with the frame's name as its
//! only key.

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};

use crate::driven::Order;

/// Frames as they arrive.
pub(super) type Frames<Source> = FramedRead<Source, LengthDelimitedCodec>;

pub(super) fn frames<Source: tokio::io::AsyncRead>(source: Source) -> Frames<Source> {
    let longest = usize::try_from(u32::MAX).unwrap_or(usize::MAX);
    FramedRead::new(source, LengthDelimitedCodec::builder().max_frame_length(longest).new_codec())
}

/// Sends a frame.
pub(super) async fn send(to: &mut (impl AsyncWrite + Unpin), order: &Order) -> std::io::Result<()> {
    let body = serde_json::to_vec(order)?;
    let length = u32::try_from(body.len()).map_err(std::io::Error::other)?;
    to.write_all(&length.to_be_bytes()).await?;
    to.write_all(&body).await?;
    to.flush().await
}
