//! A body as it comes together: one piece as it came, or several joined.
//!
//! What it takes up is known before a piece is added, so that room for it can be waited for.

use bytes::{Buf, BufMut, Bytes};

/// What has come of a body.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    first: Bytes,
    /// Everything, once there is a second piece.
    joined: Vec<u8>,
}

impl Gathered {
    pub(super) const fn len(&self) -> usize {
        if self.joined.is_empty() {
            self.first.len()
        } else {
            self.joined.len()
        }
    }

    /// What it takes up with so many bytes more. It grows by doubling, but not beyond `most`.
    pub(super) fn size_with(&self, more: usize, most: usize) -> usize {
        let length = self.len().saturating_add(more);
        if self.len() == 0 || length <= self.joined.capacity() {
            return length.max(self.joined.capacity());
        }
        let double = self.len().saturating_mul(2);
        double.min(most).max(length)
    }

    /// Adds a piece. It takes up so much [with it](Self::size_with), or more if that is known.
    pub(super) fn add(&mut self, mut piece: impl Buf, size: usize) {
        let length = piece.remaining();
        if self.len() == 0 {
            self.first = piece.copy_to_bytes(length);
            return;
        }
        let size = size.max(self.len().saturating_add(length));
        self.joined.reserve_exact(size - self.joined.len());
        if self.joined.is_empty() {
            self.joined.extend_from_slice(&self.first);
            self.first = Bytes::new();
        }
        self.joined.put(piece);
    }

    pub(super) fn into_bytes(self) -> Bytes {
        if self.joined.is_empty() {
            self.first
        } else {
            self.joined.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_up_what_it_said_and_no_more_than_the_limit() {
        let mut body = Gathered::default();
        let limit = 100_000;
        while body.len() < limit {
            let piece = vec![b'x'; 700.min(limit - body.len())];
            let size = body.size_with(piece.len(), limit);
            assert!(size <= limit);
            body.add(&*piece, size);
            assert!(
                body.joined.capacity() <= size,
                "{} of {size}",
                body.joined.capacity()
            );
        }
        assert_eq!(body.into_bytes(), vec![b'x'; limit]);
    }

    #[test]
    fn a_body_of_one_piece_is_not_copied() {
        let piece = Bytes::from_static(b"whole");
        let mut body = Gathered::default();
        let size = body.size_with(piece.len(), 10);
        body.add(piece.clone(), size);
        assert_eq!(body.into_bytes().as_ptr(), piece.as_ptr());
    }

    #[test]
    fn what_is_announced_is_taken_up_at_once() {
        let mut body = Gathered::default();
        body.add(&b"one"[..], 3);
        body.add(&b"two"[..], 1000);
        assert_eq!(body.joined.capacity(), 1000);
        assert_eq!(body.into_bytes(), "onetwo");
    }
}
