//! One file for each command.

pub(crate) mod attend;
pub(crate) mod config;
pub(crate) mod credentials;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod open;
pub(crate) mod parse_url;
pub(crate) mod quit;
pub(crate) mod repl;
pub(crate) mod run;
pub(crate) mod sandboxes;
pub(crate) mod serve;
pub(crate) mod supervise;
pub(crate) mod web;
