//! The buffer under a decoder: bytes go in at the end and leave at the front.
//!
//! It grows by copying into a larger one of a chosen size rather than by
//! doubling, so that a message just under the limit costs no more than twice the
//! limit, and it goes back to its usual size once a large message has left. What is
//! large is copied in steps, where whoever reads lets others go on in between.

use bytes::{Buf, Bytes, BytesMut};

/// Bytes that were received and not yet given out.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: BytesMut,
    /// No delimiter stands before this place: each byte is searched once.
    searched: usize,
    /// The size of the allocation as far as it is known. `BytesMut` tells only
    /// what is left of it.
    allocated: usize,
    /// How large the last large message was: the next may be as large.
    last_large: usize,
    /// A larger buffer, to which what is here is being copied.
    larger: Option<BytesMut>,
}

impl Buffer {
    pub(super) const fn new(bytes: BytesMut) -> Self {
        Self {
            bytes,
            searched: 0,
            allocated: 0,
            last_large: 0,
            larger: None,
        }
    }

    /// The bytes, with room for one read, to be appended to. A message never
    /// needs more than `limit`, so growth in large steps stops there.
    pub(super) fn spare(&mut self, limit: usize) -> &mut BytesMut {
        self.reserve(SMALLEST_READ, limit);
        &mut self.bytes
    }

    pub(super) fn push(&mut self, chunk: &[u8], limit: usize) {
        self.reserve(chunk.len(), limit);
        self.bytes.extend_from_slice(chunk);
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Searches what was not searched before.
    pub(super) fn find(&mut self, search: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
        // `spare` lends the bytes out, so the mark may lie past their end.
        let from = self.searched.min(self.bytes.len());
        let found = self.bytes.get(from..).and_then(search);
        if found.is_none() {
            self.searched = self.bytes.len();
        }
        found.map(|at| from + at)
    }

    /// Takes bytes off the front, sharing them.
    #[inline(always)]
    pub(super) fn take(&mut self, length: usize) -> Bytes {
        self.searched = 0;
        self.larger = None;
        if length > KEPT {
            self.last_large = length;
        }
        self.bytes.split_to(length.min(self.bytes.len())).freeze()
    }

    /// Drops bytes off the front.
    pub(super) fn skip(&mut self, length: usize) {
        self.searched = 0;
        self.larger = None;
        self.bytes.advance(length.min(self.bytes.len()));
    }

    pub(super) fn clear(&mut self) {
        self.skip(self.bytes.len());
    }

    /// A copy of the first bytes, which does not hold the whole buffer.
    pub(super) fn copy_prefix(&self, length: usize) -> Bytes {
        let end = length.min(self.bytes.len());
        Bytes::copy_from_slice(self.bytes.get(..end).unwrap_or_default())
    }

    /// Lets go of an allocation that a large message needed and what is left
    /// does not.
    pub(super) fn shrink(&mut self) {
        self.allocated = self.allocated.max(self.bytes.capacity());
        if self.allocated > KEPT && self.bytes.len() <= USUAL {
            self.move_to(USUAL);
        }
    }

    /// What is allocated, for tests of the bound.
    pub(super) fn allocated(&self) -> usize {
        let larger = self.larger.as_ref().map_or(0, BytesMut::capacity);
        self.allocated.max(self.bytes.capacity()) + larger
    }

    /// What will be allocated once there is room for so many bytes more, at most.
    pub(super) fn allocated_with(&self, wanted: usize, limit: usize) -> usize {
        let spare = self.bytes.capacity() - self.bytes.len();
        match spare >= wanted {
            true => self.allocated(),
            false => self.allocated().max(self.next_size(wanted, limit)),
        }
    }

    pub(super) fn reserve(&mut self, wanted: usize, limit: usize) {
        if !self.bytes.try_reclaim(wanted) {
            self.move_to(self.next_size(wanted, limit));
        }
    }

    /// Makes room for one read, as far as that is done in one step. False if more of what is here is
    /// still to be copied.
    pub(super) fn make_room(&mut self, limit: usize) -> bool {
        let length = self.bytes.len();
        if self.larger.is_none() {
            let has_room = self.bytes.capacity() - length >= SMALLEST_READ;
            if has_room || length <= STEP {
                return true;
            }
            self.larger = Some(BytesMut::with_capacity(
                self.next_size(SMALLEST_READ, limit),
            ));
        }
        let Some(larger) = &mut self.larger else {
            return true;
        };
        let end = length.min(larger.len() + STEP);
        let step = self.bytes.get(larger.len()..end);
        larger.extend_from_slice(step.unwrap_or_default());
        if larger.len() < length {
            return false;
        }
        if let Some(larger) = self.larger.take() {
            self.allocated = larger.capacity();
            self.bytes = larger;
        }
        true
    }

    /// Is more of what is here to be copied before there is room?
    pub(super) const fn is_moving(&self) -> bool {
        self.larger.is_some()
    }

    /// How large the next buffer is.
    fn next_size(&self, wanted: usize, limit: usize) -> usize {
        let length = self.bytes.len();
        // In fourfold steps a message of 1 MiB is copied by a third on its way in.
        let mut step = length.saturating_mul(4);
        if step > KEPT && length < self.last_large {
            // One that looks like the last one is copied once, and gets no more room than it.
            step = self.last_large.saturating_add(SMALLEST_READ);
        }
        let step = step.min(limit.saturating_add(1));
        step.max(length.saturating_add(wanted)).max(USUAL)
    }

    fn move_to(&mut self, capacity: usize) {
        let mut bytes = BytesMut::with_capacity(capacity);
        bytes.extend_from_slice(&self.bytes);
        self.allocated = bytes.capacity();
        self.bytes = bytes;
        self.larger = None;
    }
}

/// What is allocated as long as messages are small. A gateway has thousands of
/// these, most of them idle.
const USUAL: usize = 16 * 1024;

/// An allocation up to this size is kept.
const KEPT: usize = 8 * USUAL;

/// So much is copied in one step, in a tenth of a millisecond.
const STEP: usize = 256 * 1024;

/// Room that a reader always finds.
const SMALLEST_READ: usize = 4 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 16 << 20;

    fn filled(length: usize) -> Buffer {
        let mut buffer = Buffer::new(BytesMut::new());
        buffer.push(&vec![b'a'; length], LIMIT);
        buffer
    }

    #[test]
    fn one_that_may_become_as_large_as_the_last_grows_to_that_at_once() {
        fn check(last: usize, length: usize, expected: usize) {
            let mut buffer = filled(last << 10);
            buffer.take(last << 10);
            buffer.push(&vec![b'a'; length << 10], LIMIT);
            let next = buffer.next_size(SMALLEST_READ, LIMIT) >> 10;
            assert_eq!(next, expected, "{length} after {last}");
        }
        check(0, 40, 160);
        check(128, 40, 160);
        check(129, 40, 133);
        check(1024, 20, 80);
        check(1024, 32, 128);
        check(1024, 40, 1028);
        check(1024, 1023, 1028);
        check(1024, 1024, 4096);
    }

    #[test]
    fn what_will_be_allocated_is_known_before() {
        for (length, more) in [
            (0, 10),
            (10_000, 6_384),
            (10_000, 6_385),
            (10_000, 100_000),
            (200_000, 1),
        ] {
            let mut buffer = filled(length);
            let expected = buffer.allocated_with(more, LIMIT);
            buffer.push(&vec![b'a'; more], LIMIT);
            assert_eq!(buffer.allocated(), expected, "{more} behind {length}");
        }
    }

    #[test]
    fn room_that_has_come_back_is_used_again() {
        let mut buffer = filled(10_000);
        let start = buffer.as_slice().as_ptr();
        drop(buffer.take(10_000));
        buffer.push(&[b'b'; 10_000], LIMIT);
        assert_eq!(buffer.as_slice().as_ptr(), start);
    }

    #[test]
    fn only_a_large_allocation_is_let_go_of() {
        for (length, expected) in [(KEPT, KEPT), (KEPT + 1, USUAL)] {
            let mut buffer = filled(length);
            buffer.clear();
            buffer.shrink();
            assert_eq!(buffer.allocated(), expected);
        }
    }
}
