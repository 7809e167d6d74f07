//! The runtimes: kinds of places where code runs, one folder each, behind the contract of `sandbook-sandbox`.
//!
//! A runtime knows its provider and nothing of notebooks, stores or windows. Folders have the same file names inside:
//! `mod.rs` says how it talks. Each is a feature; [`Runtimes`] are those of a build. [`supervise`] keeps children of this
//! computer from outliving their owner; [`python`] finds interpreters.
//!
//! To begin: make a runtime in a [`Surrounding`], ask it to create a sandbox with settings, give that to a
//! [`Client`](sandbook_sandbox::Client) and run code, then stop it. `examples/` does so for each runtime, with the same tour of
//! what all can do in `examples/tour`: state between runs, events while code runs, rich results, errors. A runtime says
//! with its capabilities what a sandbox cannot do and why; files and commands are in no runtime's contract yet. One whose
//! settings are unknown is asked through [`Runtimes`], by its name.

// What all share is made for all of them: a build that leaves some out has parts that nobody in it uses.
#![cfg_attr(
    not(all(
        feature = "colab",
        feature = "datalayer",
        feature = "docker",
        feature = "kaggle",
        feature = "modal",
        feature = "opensandbox"
    )),
    allow(dead_code)
)]

#[cfg(any(all(unix, feature = "eval"), feature = "jupyter"))]
mod capability;
#[cfg(any(feature = "colab", feature = "kaggle"))]
mod channels;
#[cfg(feature = "colab")]
pub mod colab;
#[cfg(feature = "datalayer")]
pub mod datalayer;
#[cfg(feature = "docker")]
pub mod docker;
#[cfg(any(all(unix, feature = "eval"), feature = "modal", feature = "monty"))]
mod driven;
mod error;
#[cfg(all(unix, feature = "eval"))]
pub mod eval;
#[cfg(any(feature = "docker", feature = "monty"))]
mod folders;
#[cfg(feature = "jupyter")]
pub mod jupyter;
#[cfg(feature = "kaggle")]
pub mod kaggle;
#[cfg(any(feature = "docker", feature = "modal", feature = "monty", feature = "opensandbox"))]
mod memory;
#[cfg(feature = "modal")]
pub mod modal;
#[cfg(feature = "monty")]
pub mod monty;
#[cfg(feature = "opensandbox")]
pub mod opensandbox;
#[cfg(any(feature = "datalayer", feature = "docker", feature = "modal", feature = "opensandbox"))]
mod own_settings;
#[cfg(feature = "jupyter")]
pub mod paste;
#[cfg(any(all(unix, feature = "eval"), feature = "jupyter"))]
mod process;
pub mod python;
#[cfg(any(feature = "datalayer", feature = "opensandbox"))]
mod reap;
mod registry;
pub mod supervise;
mod surrounding;
#[cfg(any(all(unix, feature = "eval"), feature = "jupyter", feature = "monty"))]
mod time_limit;

pub use error::StartError;
pub use registry::Runtimes;
pub use surrounding::Surrounding;
