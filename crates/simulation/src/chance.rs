//! Chance that is the same for the same seed.

/// Rolls numbers.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number. Seeds that are next to each other have nothing in common.
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed(self.0)
    }

    /// A number below this one.
    pub(crate) const fn below(&mut self, limit: u64) -> u64 {
        match limit {
            0 => 0,
            limit => self.next() % limit,
        }
    }

    /// A place in something that has so many.
    pub(crate) fn place(&mut self, count: usize) -> usize {
        usize::try_from(self.below(count as u64)).unwrap_or_default()
    }

    /// Once in so many times.
    pub(crate) const fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of these, each as often as its weight says.
    pub(crate) fn weighted<T: Copy>(&mut self, choices: &[(u64, T)]) -> Option<T> {
        let sum = choices.iter().map(|(weight, _)| weight).sum();
        let mut rolled = self.below(sum);
        for (weight, choice) in choices {
            if rolled < *weight {
                return Some(*choice);
            }
            rolled -= weight;
        }
        None
    }
}

/// A number in which every bit of this one has its say.
pub(crate) const fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}
