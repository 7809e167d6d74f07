//! Passing messages to the page a frame's worth at a time.
//!
//! Each delivery to the web view costs far more than the message in it, so what arrives within one frame goes together.
//! A message after a pause is not held back: it goes at once.

use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;

/// One frame of a screen at 60 Hz.
const FRAME: Duration = Duration::from_millis(16);

/// The most messages of one delivery.
const MOST: usize = 1_000;

/// Delivers batches until the messages end or the page takes no more.
pub(crate) async fn deliver_gathered<T>(mut messages: Receiver<T>, mut deliver: impl FnMut(Vec<T>) -> bool) {
    let mut due = Instant::now();
    loop {
        let mut batch = Vec::new();
        if messages.recv_many(&mut batch, MOST).await == 0 {
            return;
        }
        if due > Instant::now() {
            tokio::time::sleep_until(due).await;
            while batch.len() < MOST
                && let Ok(message) = messages.try_recv()
            {
                batch.push(message);
            }
        }
        if !deliver(batch) {
            return;
        }
        due = Instant::now() + FRAME;
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_first_message_goes_at_once_and_those_of_the_next_frame_go_together() {
        let (sender, receiver) = mpsc::channel(100);
        let (delivered, mut batches) = mpsc::unbounded_channel();
        let started = Instant::now();
        let delivering = tokio::spawn(deliver_gathered(receiver, move |batch: Vec<u32>| {
            delivered.send((started.elapsed(), batch)).is_ok()
        }));
        sender.send(1).await.unwrap();
        tokio::time::sleep(Duration::from_millis(2)).await;
        for message in [2, 3] {
            sender.send(message).await.unwrap();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        sender.send(4).await.unwrap();
        drop(sender);
        delivering.await.unwrap();
        let (at_first, first) = batches.recv().await.unwrap();
        assert_eq!((at_first, first), (Duration::ZERO, vec![1]));
        let (at_second, second) = batches.recv().await.unwrap();
        assert_eq!(second, [2, 3]);
        assert!(at_second >= FRAME && at_second < FRAME * 2, "{at_second:?}");
        assert_eq!(batches.recv().await.unwrap().1, [4]);
        assert!(batches.recv().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_keeps_its_order_and_comes_in_bounded_batches() {
        let (sender, receiver) = mpsc::channel(64);
        let flood = tokio::spawn(async move {
            for message in 0..10_000_u32 {
                sender.send(message).await.unwrap();
            }
        });
        let (delivered, mut batches) = mpsc::unbounded_channel();
        deliver_gathered(receiver, |batch: Vec<u32>| delivered.send(batch).is_ok()).await;
        flood.await.unwrap();
        drop(delivered);
        let mut seen = Vec::new();
        while let Some(batch) = batches.recv().await {
            assert!(batch.len() <= MOST);
            seen.extend(batch);
        }
        assert_eq!(seen, (0..10_000).collect::<Vec<_>>());
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_that_is_gone_ends_it() {
        let (sender, receiver) = mpsc::channel(1);
        let delivering = tokio::spawn(deliver_gathered(receiver, |_: Vec<u32>| false));
        sender.send(1).await.unwrap();
        delivering.await.unwrap();
        assert!(sender.send(2).await.is_err());
    }
}
