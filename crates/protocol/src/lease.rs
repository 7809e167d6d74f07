//! What a page learns of money: what a sandbox would cost, what one costs, and when it ends.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Capability, RuntimeKind};

/// An amount of money, or of what a provider sells in place of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct AmountView {
    /// How much.
    pub value: f64,
    /// Of what: `USD`, or a provider's own word, as `credits`.
    pub unit: String,
}

/// What an hour costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct PriceView {
    /// For one hour.
    pub per_hour: AmountView,
    /// The day of the table that it is estimated from; absent where the provider says it.
    pub estimated: Option<String>,
}

/// Until when a sandbox lives, and what that costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct LeaseView {
    /// When it ends by itself, in milliseconds since 1970, where that is known.
    #[ts(type = "number | null")]
    pub ends_at: Option<u64>,
    /// What it costs, where that is known.
    pub price: Option<PriceView>,
    /// The most that it can come to, where that is known.
    pub at_most: Option<AmountView>,
    /// Whether the end can be put off.
    pub renewable: bool,
    /// Why not, or with which limit.
    pub note: String,
}

/// One of the things that can be started, with its price.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct OfferView {
    /// Its name in the settings.
    pub name: String,
    /// What a person reads.
    pub title: String,
    /// More about it, in one line; may be empty.
    pub about: String,
    /// What it costs, where that is known.
    pub price: Option<PriceView>,
}

/// What would be spent. Nothing has been.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct SpendingView {
    /// What there is to choose from.
    pub offers: Vec<OfferView>,
    /// The name of the one that the settings mean.
    pub chosen: Option<String>,
    /// How many seconds the sandbox would live at the longest.
    pub seconds: Option<f64>,
    /// The most that it would come to.
    pub at_most: Option<AmountView>,
    /// What the account has left to spend.
    pub available: Option<AmountView>,
}

/// A cloud where sandboxes are made with the key of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct AccountView {
    /// Which.
    pub kind: RuntimeKind,
    /// What it is called.
    pub title: String,
    /// Its two letters.
    pub mark: String,
    /// The address that is meant where a person writes none.
    pub address: String,
    /// Whether it is a server of a person's or a team's own: its address comes first, it may need no key, and nothing there
    /// costs anything that is told here.
    pub own_server: bool,
    /// The variable of the environment that holds a key which can be taken over, where there is one.
    pub importable: Option<String>,
    /// What a sandbox there can do.
    pub capabilities: Vec<Capability>,
}
