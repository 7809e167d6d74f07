//! Money and time, as a page sees them.

use sandbook_protocol::{AmountView, LeaseView, OfferView, PriceView, SpendingView};
use sandbook_sandbox::{Amount, Lease, Offer, Price, PriceSource, Spending, Support};

use crate::time::millis;

/// Until when a sandbox lives, and what that costs.
pub(crate) fn lease(lease: Lease) -> LeaseView {
    let (renewable, note) = match lease.renewable {
        Support::Yes(note) | Support::Limited(note) => (true, note),
        Support::No(note) => (false, note),
    };
    LeaseView {
        ends_at: lease.ends.map(millis),
        price: lease.price.map(price),
        at_most: lease.at_most.map(amount),
        renewable,
        note,
    }
}

/// What would be spent.
pub(crate) fn spending(spending: Spending) -> SpendingView {
    SpendingView {
        offers: spending.offers.into_iter().map(offer).collect(),
        chosen: spending.chosen,
        seconds: spending.life.map(|life| life.as_secs_f64()),
        at_most: spending.at_most.map(amount),
        available: spending.available.map(amount),
    }
}

fn offer(Offer { name, title, about, price: of }: Offer) -> OfferView {
    OfferView { name, title, about, price: of.map(price) }
}

fn price(Price { per_hour, source }: Price) -> PriceView {
    let estimated = match source {
        PriceSource::Provider => None,
        PriceSource::Estimate(day) => Some(day),
    };
    PriceView { per_hour: amount(per_hour), estimated }
}

fn amount(Amount { value, unit }: Amount) -> AmountView {
    AmountView { value, unit }
}
