//! Chance that is the same in every run.

/// Rolls small numbers.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Rolls that are the same for the same seed.
    pub const fn new(seed: u64) -> Self {
        // From zero nothing else would ever come.
        Self(seed | 1)
    }

    /// A number below this.
    pub const fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

impl Default for Dice {
    fn default() -> Self {
        Self::new(0x9E37_79B9_7F4A_7C15)
    }
}
