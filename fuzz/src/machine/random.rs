//! Chance that is read off bytes.

use std::collections::VecDeque;

/// The bytes, one after another; behind their end, numbers that depend on all of them.
#[derive(Debug)]
pub(crate) struct Random {
    bytes: VecDeque<u8>,
    state: u64,
}

impl Random {
    pub(crate) fn new(data: &[u8]) -> Self {
        let digest = data.iter().fold(0xCBF2_9CE4_8422_2325, |digest, byte| {
            (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
        });
        Self {
            bytes: data.iter().copied().collect(),
            state: digest | 1,
        }
    }

    /// A number below the limit, which must not be zero.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let mut number = self.byte();
        if limit > 256 {
            number = number << 8 | self.byte();
        }
        number % limit
    }

    /// True this many times out of a hundred.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// The next byte, or one of xorshift64*.
    fn byte(&mut self) -> usize {
        if let Some(byte) = self.bytes.pop_front() {
            return usize::from(byte);
        }
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 56) as usize
    }
}
