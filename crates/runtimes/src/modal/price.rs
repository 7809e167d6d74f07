//! What a sandbox costs, as an estimate: Modal says no price when it is asked, and bills what is kept for a sandbox or
//! what it uses, whichever is more. A card that the table does not know has no price, and then nor has the sandbox.

use std::{collections::BTreeMap, path::Path, time::Duration};

use sandbook_sandbox::{Amount, Offer, Price, PriceSource, SandboxError, Spending};
use serde::Deserialize;

use super::{gpu::Gpu, settings::ModalSettings};

const OWN: &str = include_str!("prices.toml");
const SECONDS: f64 = 3600.0;
const GIB: f64 = 1_073_741_824.0;
/// What the offer without a card is called in the settings.
const NO_CARD: &str = "none";

/// A table of prices, in US dollars a second.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Prices {
    date: String,
    cpu: f64,
    least_cores: f64,
    memory: f64,
    least_gib: f64,
    region: f64,
    gpu: BTreeMap<String, f64>,
}

impl Prices {
    /// The person's table, or else the one of this program.
    pub(super) fn read(own: Option<&Path>) -> Result<Self, SandboxError> {
        let wrong = |reason: String| SandboxError::Setting { setting: "prices".into(), reason };
        let text = match own {
            Some(path) => std::fs::read_to_string(path)
                .map_err(|error| wrong(format!("{}: {error}", path.display())))?,
            None => OWN.into(),
        };
        toml::from_str(&text).map_err(|error| wrong(error.message().to_owned()))
    }

    /// What an hour costs at least, as long as it uses no more than what is kept for it.
    pub(super) fn of(&self, settings: &ModalSettings) -> Option<Price> {
        let cores = settings.cpu.unwrap_or_default().max(self.least_cores);
        #[expect(clippy::cast_precision_loss, reason = "nobody pays for single bytes")]
        let gib = settings.memory.map_or(0.0, |memory| memory.in_bytes() as f64 / GIB).max(self.least_gib);
        let card = match &settings.gpu {
            Some(gpu) => self.card(gpu)?,
            None => 0.0,
        };
        let times = if settings.region.is_some() { self.region } else { 1.0 };
        Some(self.price((cores * self.cpu + gib * self.memory + card) * times))
    }

    /// What would be spent.
    pub(super) fn spending(&self, settings: &ModalSettings) -> Spending {
        let offer = |name: &str, title: &str, a_second: f64| Offer {
            name: name.to_owned(),
            title: title.to_owned(),
            about: String::new(),
            price: Some(self.price(a_second)),
        };
        let mut cards: Vec<(&String, &f64)> = self.gpu.iter().collect();
        cards.sort_by(|left, right| left.1.total_cmp(right.1));
        let cards = cards.into_iter().map(|(name, a_second)| offer(name, name, *a_second));
        let life = Duration::from_secs(settings.longest_life.into());
        Spending {
            offers: std::iter::once(offer(NO_CARD, "None", 0.0)).chain(cards).collect(),
            chosen: Some(settings.gpu.as_ref().map_or(NO_CARD, |gpu| &gpu.kind).to_owned()),
            life: Some(life),
            at_most: self.of(settings).map(|price| for_life(&price, life)),
            available: None,
        }
    }

    fn card(&self, gpu: &Gpu) -> Option<f64> {
        // its shorter names
        let kind = match gpu.kind.as_str() {
            "A10G" => "A10",
            "A100" => "A100-40GB",
            "H100!" => "H100",
            "B200+" => "B300",
            kind => kind,
        };
        Some(self.gpu.get(kind)? * f64::from(gpu.count))
    }

    fn price(&self, a_second: f64) -> Price {
        Price {
            per_hour: Amount::new(a_second * SECONDS, "USD"),
            source: PriceSource::Estimate(self.date.clone()),
        }
    }
}

/// What it comes to in so long a life.
pub(super) fn for_life(price: &Price, life: Duration) -> Amount {
    Amount::new(price.per_hour.value * life.as_secs_f64() / SECONDS, price.per_hour.unit.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn an_hour(settings: &ModalSettings) -> Option<f64> {
        Prices::read(None).unwrap().of(settings).map(|price| price.per_hour.value)
    }

    #[test]
    fn a_price_is_of_what_is_kept_and_what_the_table_does_not_know_has_none() {
        let least = an_hour(&ModalSettings::default()).unwrap();
        assert!((least - 3600.0 * (0.125 * 0.000_039_42 + 0.125 * 0.000_006_67)).abs() < 1e-9, "{least}");
        let settings = ModalSettings {
            cpu: Some(4.0),
            memory: Some(crate::memory::Memory::bytes(16 << 30)),
            gpu: Some("A100:2".parse().unwrap()),
            ..ModalSettings::default()
        };
        let hour = an_hour(&settings).unwrap();
        assert!((hour - 3600.0 * (4.0 * 0.000_039_42 + 16.0 * 0.000_006_67 + 2.0 * 0.000_583)).abs() < 1e-9);
        let unknown = ModalSettings { gpu: Some("X1".parse().unwrap()), ..settings };
        assert_eq!(an_hour(&unknown), None);
        assert_eq!(Prices::read(None).unwrap().spending(&unknown).at_most, None);
    }

    #[test]
    fn the_most_is_the_price_for_the_longest_life_and_every_card_is_offered() {
        let settings = ModalSettings { longest_life: 1800, ..ModalSettings::default() };
        let spending = Prices::read(None).unwrap().spending(&settings);
        let half = an_hour(&settings).unwrap() / 2.0;
        assert!((spending.at_most.unwrap().value - half).abs() < 1e-9);
        assert_eq!(spending.offers[0].name, "none");
        assert!(spending.offers.len() > 8 && spending.chosen.as_deref() == Some("none"));
    }

    #[test]
    fn a_table_of_one_s_own_takes_the_place_of_ours_and_one_that_cannot_be_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prices.toml");
        std::fs::write(&path, OWN.replace("2026-10-08", "2027-01-01")).unwrap();
        let price = Prices::read(Some(&path)).unwrap().of(&ModalSettings::default()).unwrap();
        assert_eq!(price.source, PriceSource::Estimate("2027-01-01".into()));
        std::fs::write(&path, "cpu = 1").unwrap();
        assert!(matches!(Prices::read(Some(&path)), Err(SandboxError::Setting { .. })));
    }
}
