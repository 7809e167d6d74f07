//! What the doors share.

use std::{
    path::PathBuf,
    sync::{Arc, Weak},
};

use sandbook_client::Listener;
use sandbook_workbench::Workbench;
use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;

use crate::{
    GatewayError, PageSource, local,
    web::{Invitation, WebDoor},
};

/// The doors of an owner.
pub struct Gateway {
    workbench: Workbench,
    page: PageSource,
    folder: PathBuf,
    // The clients that asked for it keep it open; here it is only remembered.
    web: Mutex<Weak<WebDoor>>,
    connected: watch::Sender<usize>,
}

impl Gateway {
    /// Doors to an owner. `page` is what a browser gets; `folder` is the owner's runtime folder.
    pub fn new(workbench: Workbench, page: PageSource, folder: impl Into<PathBuf>) -> Arc<Self> {
        Arc::new(Self {
            workbench,
            page,
            folder: folder.into(),
            web: Mutex::default(),
            connected: watch::Sender::new(0),
        })
    }

    /// Answers clients on the local socket: new ones until `leaving`, those that are there until `stop`.
    pub async fn serve(
        self: &Arc<Self>,
        listener: Listener,
        leaving: CancellationToken,
        stop: CancellationToken,
    ) {
        local::serve(self, listener, &leaving, &stop).await;
    }

    /// How many clients are connected on the local socket, from now on. A browser counts through the client that
    /// opened the door for it.
    pub fn connected(&self) -> watch::Receiver<usize> {
        self.connected.subscribe()
    }

    pub(crate) fn workbench(&self) -> &Workbench {
        &self.workbench
    }

    /// Counts a client as long as what this gives is kept.
    pub(crate) fn count(self: &Arc<Self>) -> Counted {
        self.connected.send_modify(|count| *count += 1);
        Counted(self.clone())
    }

    /// Opens the web door, or finds it open, and invites one browser. The door is open as long as somebody keeps it.
    pub(crate) async fn open_web_door(
        &self,
        port: Option<u16>,
    ) -> Result<(Arc<WebDoor>, Invitation), GatewayError> {
        let port = port.filter(|port| *port != 0);
        let mut web = self.web.lock().await;
        let door = match (web.upgrade(), port) {
            (Some(door), Some(asked)) if door.port() != asked => {
                return Err(GatewayError::OpenElsewhere { open: door.port(), asked });
            }
            (Some(door), _) => door,
            (None, _) => {
                let (workbench, page) = (self.workbench.clone(), self.page.clone());
                let door = WebDoor::open(workbench, page, port.unwrap_or(0), &self.folder).await?;
                *web = Arc::downgrade(&door);
                door
            }
        };
        let invitation = door.invite();
        Ok((door, invitation))
    }
}

/// A connected client.
pub(crate) struct Counted(Arc<Gateway>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connected.send_modify(|count| *count -= 1);
    }
}
