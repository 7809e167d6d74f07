//! Modal's messages, made from `proto/modal` when this is built.

/// Of the control plane.
#[allow(missing_docs, unreachable_pub, clippy::pedantic, reason = "it is generated")]
pub(super) mod control {
    include!(concat!(env!("OUT_DIR"), "/modal.client.rs"));
}

/// Of the router of commands in front of a sandbox.
#[allow(missing_docs, unreachable_pub, clippy::pedantic, reason = "it is generated")]
pub(super) mod router {
    include!(concat!(env!("OUT_DIR"), "/modal.task_command_router.rs"));
}

/// A detail of an error, packed as Protobuf packs anything.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Packed {
    #[prost(string, tag = "1")]
    pub(super) type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
}

/// What stands behind the status of an error.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Details {
    #[prost(message, repeated, tag = "3")]
    pub(super) details: Vec<Packed>,
}

#[cfg(test)]
mod tests {
    use sandbook_test_support::{Modal, python};

    /// Every message, field and call that is in the files, as a set of descriptors.
    const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/modal.bin"));

    #[test]
    fn every_message_field_and_call_is_as_modal_s_own_client_has_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), DESCRIPTORS).unwrap();
        let compared = std::process::Command::new(python())
            .arg("-B")
            .arg(Modal::folder().join("modal_descriptors.py"))
            .arg(file.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&compared.stdout);
        assert!(compared.status.success(), "{said}{}", String::from_utf8_lossy(&compared.stderr));
        let count: usize = said.trim().parse().unwrap();
        assert!(count > 100, "only {count} were compared");
    }
}
