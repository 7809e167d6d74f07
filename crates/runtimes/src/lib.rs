//! The runtimes: kinds of places where code runs, one folder each, behind the contract of `sandbook-sandbox`.
//!
//! A runtime knows its provider and nothing of notebooks, stores or windows. Folders have the same file names inside:
//! `mod.rs` says how it talks. [`supervise`] keeps children of this computer from outliving their owner.

mod error;
#[cfg(feature = "jupyter")]
pub mod jupyter;
pub mod supervise;

pub use error::StartError;
