//! Until when a sandbox lives, and what that costs. A price is the provider's own, or an estimate with its date; what
//! nobody reports is absent, never a guess.

use std::time::{Duration, SystemTime};

use crate::Support;

/// An amount of money, or of what a provider sells in place of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Amount {
    /// How much.
    pub value: f64,
    /// Of what: `USD`, or a provider's own word, as `credits`.
    pub unit: String,
}

/// Who says a price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PriceSource {
    /// The provider, when it was asked.
    Provider,
    /// A table, as of this day: `2026-11-30`.
    Estimate(String),
}

/// What an hour costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// For one hour.
    pub per_hour: Amount,
    /// Who says so.
    pub source: PriceSource,
}

/// Until when a sandbox lives, and what that costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Lease {
    /// When it ends by itself, where that is known.
    pub ends: Option<SystemTime>,
    /// What it costs, where that is known.
    pub price: Option<Price>,
    /// The most that it can come to until it ends, where that is known.
    pub at_most: Option<Amount>,
    /// Whether the end can be put off.
    pub renewable: Support,
}

/// One of the things that can be started, with its price.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// Its name in the settings.
    pub name: String,
    /// What a person reads.
    pub title: String,
    /// More about it, in one line; may be empty.
    pub about: String,
    /// What it costs, where that is known.
    pub price: Option<Price>,
}

/// What would be spent. Asking costs nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spending {
    /// What there is to choose from.
    pub offers: Vec<Offer>,
    /// The name of the one that the settings mean.
    pub chosen: Option<String>,
    /// How long the sandbox would live at the longest.
    pub life: Option<Duration>,
    /// The most that it would come to.
    pub at_most: Option<Amount>,
    /// What the account has left to spend.
    pub available: Option<Amount>,
}

impl Amount {
    /// So much of something.
    pub fn new(value: f64, unit: impl Into<String>) -> Self {
        Self { value, unit: unit.into() }
    }
}
