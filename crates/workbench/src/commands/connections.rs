//! x
use super::{Caller, misplaced};
use sandbook_protocol::{Command, ProtocolError, Reply};
pub(super) async fn handle(_: &Caller<'_>, _: Command) -> Result<Reply, ProtocolError> {
    Err(misplaced())
}
