//! What is not asked of which place, and why.

use indexmap::IndexMap;
use serde::Deserialize;

use crate::{Place, places, themes};

/// The exceptions: place, scenario, reason.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Table(IndexMap<String, IndexMap<String, String>>);

impl Table {
    /// The table of this repository.
    ///
    /// # Panics
    /// Where it cannot be read, or names a place or a scenario that there is not.
    pub fn read() -> Self {
        let table: Self = toml::from_str(include_str!("../table.toml")).expect("the table is read");
        let names: Vec<&str> =
            themes::ALL.iter().flat_map(|theme| theme.scenarios).map(|scenario| scenario.name).collect();
        for (place, exceptions) in &table.0 {
            assert!(places::ALL.iter().any(|known| known.name == place), "the table names the place {place}");
            for scenario in exceptions.keys() {
                assert!(names.contains(&scenario.as_str()), "the table names the scenario {scenario}");
            }
        }
        table
    }

    /// Why a scenario is not asked of a place.
    pub fn exception(&self, place: &Place, scenario: &str) -> Option<&str> {
        self.0.get(place.name)?.get(scenario).map(String::as_str)
    }
}
