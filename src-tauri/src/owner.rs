//! The way to the owner process: found where it listens, or started from the program beside this one.

use std::path::PathBuf;

use sandbook_client::{ClientError, Owner, Place, Resource, Wire};
use sandbook_protocol::{ClientKind, ErrorCode, ProtocolError, ResourceId};
use sandbook_store::folders::Folders;
use tokio::sync::Mutex;

/// The handle that outputs are read through, kept as long as it works.
#[derive(Default)]
pub(crate) struct OwnerLink {
    owner: Mutex<Option<Owner>>,
}

impl OwnerLink {
    /// Looks for the owner, or starts it, while the web view is still starting: the page then waits for one of the two.
    /// What is wrong is said when the page asks.
    pub(crate) async fn meet(&self) {
        if let Ok(place) = place() {
            let _ = self.renewed(&place).await;
        }
    }

    /// A new connection on which nothing was said yet. Starts the owner where none runs.
    pub(crate) async fn wire(&self) -> Result<Wire, ProtocolError> {
        let place = place()?;
        self.renewed(&place).await?;
        Ok(Wire::connect(&place).await?)
    }

    /// Reads an output whole.
    pub(crate) async fn resource(&self, id: &str) -> Result<Resource, ProtocolError> {
        let owner = self.owner.lock().await.clone();
        let owner = owner.ok_or(ClientError::NobodyListens)?;
        Ok(owner.read_resource(ResourceId::from(id)).await?)
    }

    /// Replaces the handle: a page that asks for a new connection has lost the old owner or never had one.
    async fn renewed(&self, place: &Place) -> Result<(), ProtocolError> {
        let program = program()?;
        let mut kept = self.owner.lock().await;
        let (owner, pushes) = Owner::connect_or_start(place, ClientKind::CommandLine, &program).await?;
        // Only resources are read through this handle. It is none that shows notebooks, so it does not call itself a
        // window, and pushes go to the page on its own connection.
        drop(pushes);
        *kept = Some(owner);
        Ok(())
    }
}

/// Where the owner of this person listens, as the command line finds it too.
fn place() -> Result<Place, ProtocolError> {
    let folders = Folders::find().map_err(|error| {
        ProtocolError::new(ErrorCode::Internal, error.to_string(), "Set HOME and start Sandbook again.")
    })?;
    Ok(Place::new(&folders.runtime, folders.program_logs().join("owner.stderr")))
}

/// `sandbook`, beside this program.
fn program() -> Result<PathBuf, ProtocolError> {
    let own = std::env::current_exe().map_err(|error| {
        ProtocolError::internal(format!("Sandbook does not know where its own programs are: {error}."))
    })?;
    let program = own.with_file_name(format!("sandbook{}", std::env::consts::EXE_SUFFIX));
    if program.is_file() {
        return Ok(program);
    }
    Err(ProtocolError::new(
        ErrorCode::NotFound,
        format!("The program {} is missing, which holds your notebooks.", program.display()),
        "Install Sandbook again. Notebooks and their journals are untouched.",
    ))
}
