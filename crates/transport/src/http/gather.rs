//! A body as it comes together: pieces as they came, or one room for all of it where its size is known.
//!
//! What it takes up is known before a piece is added, so that room for it can be waited for. Pieces are
//! joined once, when all are there, some at a time: a body that never ends is never joined, and while it grows nothing
//! large is copied to where there is more room. Small ones are joined as they come, since to keep a piece
//! costs as much as many of its bytes.

use std::collections::VecDeque;

use bytes::{Buf, BufMut, Bytes};

/// What has come of a body.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pieces: VecDeque<Bytes>,
    /// Small pieces behind them.
    small: Vec<u8>,
    /// How many bytes both have.
    length: usize,
    /// Everything, once its size is known and there is more than one piece.
    whole: Vec<u8>,
}

impl Gathered {
    pub(super) const fn len(&self) -> usize {
        self.length + self.whole.len()
    }

    /// What it takes up with so many bytes more.
    pub(super) fn size_with(&self, more: usize) -> usize {
        let length = self.len().saturating_add(more);
        length.max(self.whole.capacity())
    }

    /// Adds a piece. All of it will take up so much, if that is known.
    pub(super) fn add(&mut self, mut piece: impl Buf, announced: Option<usize>) {
        let length = piece.remaining();
        let is_first = self.len() == 0;
        match announced {
            Some(size) if !is_first => {
                let missing = size.saturating_sub(self.whole.len());
                self.whole.reserve_exact(missing.max(length));
                while !self.join_some() {}
                self.whole.put(piece);
            }
            _ if self.whole.is_empty() => {
                self.length += length;
                if is_first || length > SMALL_PIECE {
                    self.pass_small_on();
                    self.pieces.push_back(piece.copy_to_bytes(length));
                } else {
                    if self.small.len().saturating_add(length) > JOINED {
                        self.pass_small_on();
                    }
                    self.small.put(piece);
                }
            }
            _ => self.whole.put(piece),
        }
    }

    /// The next of the pieces, as they came. None of them was announced.
    #[cfg(feature = "connect")]
    pub(super) fn pop(&mut self) -> Option<Bytes> {
        self.pass_small_on();
        let piece = self.pieces.pop_front()?;
        self.length -= piece.len();
        Some(piece)
    }

    /// How the body begins: enough to see what it is about.
    pub(super) fn beginning(&self) -> Bytes {
        let pieces = self.pieces.iter().map(|piece| &**piece);
        let parts = pieces.chain([&*self.small, &*self.whole]);
        let beginning: Vec<u8> = parts.flatten().take(BEGINNING).copied().collect();
        beginning.into()
    }

    /// Joins some of the pieces of a body that has come, and says whether it is one now.
    pub(super) fn join(&mut self) -> bool {
        if self.whole.is_empty() && self.small.is_empty() && self.pieces.len() <= 1 {
            return true;
        }
        self.whole.reserve_exact(self.length);
        self.join_some()
    }

    /// The body, which is [joined](Self::join) if it was not.
    pub(super) fn into_bytes(mut self) -> Bytes {
        while !self.join() {}
        match self.pieces.pop_front() {
            Some(piece) => piece,
            None => self.whole.into(),
        }
    }

    /// Moves some of the pieces to where everything is, and says whether that was all. Each is given
    /// back as soon as it is there.
    fn join_some(&mut self) -> bool {
        let mut moved = 0;
        while moved < STEP
            && let Some(piece) = self.pieces.pop_front()
        {
            self.whole.extend_from_slice(&piece);
            moved += piece.len();
        }
        self.length -= moved;
        if !self.pieces.is_empty() {
            return false;
        }
        self.length -= self.small.len();
        self.whole.append(&mut self.small);
        self.small = Vec::new();
        true
    }

    /// Makes a piece of the small ones, without room for more.
    fn pass_small_on(&mut self) {
        if !self.small.is_empty() {
            let joined = std::mem::take(&mut self.small).into_boxed_slice();
            self.pieces.push_back(joined.into());
        }
    }
}

/// A piece of no more than this is copied. To keep one by itself costs about 64 bytes.
const SMALL_PIECE: usize = 2 * 1024;

/// About so many bytes are joined in one step.
const STEP: usize = 256 * 1024;

/// As much as is kept of a line that is too long.
const BEGINNING: usize = 4 * 1024;

/// So many bytes of small pieces become one.
const JOINED: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_up_what_it_said() {
        let mut body = Gathered::default();
        let limit = 100_000;
        while body.len() < limit {
            let piece = vec![b'x'; 700.min(limit - body.len())];
            let size = body.size_with(piece.len());
            body.add(&*piece, None);
            assert_eq!((body.len(), body.whole.capacity()), (size, 0));
        }
        assert_eq!(body.into_bytes(), vec![b'x'; limit]);
    }

    #[test]
    fn however_small_the_pieces_are_they_take_up_little_more_than_their_bytes() {
        let text: Vec<u8> = (0..200_000_u32).map(|place| place as u8).collect();
        for size in [1, 3, 100, SMALL_PIECE, SMALL_PIECE + 1] {
            let mut body = Gathered::default();
            for piece in text.chunks(size) {
                body.add(piece, None);
                let kept = body.pieces.len() * size_of::<Bytes>() + body.small.capacity();
                assert!(kept <= body.len() / 16 + 3 * JOINED, "{size} {kept}");
            }
            assert_eq!(body.len(), text.len());
            assert_eq!(body.into_bytes(), text, "{size}");
        }
    }

    #[test]
    fn small_and_large_pieces_stay_in_order() {
        let pieces: Vec<Vec<u8>> = (0..40)
            .map(|place: u8| vec![place; if place.is_multiple_of(3) { 5000 } else { 50 }])
            .collect();
        let mut announced = Gathered::default();
        let mut body = Gathered::default();
        for (place, piece) in pieces.iter().enumerate() {
            body.add(&**piece, None);
            announced.add(&**piece, (place > 20).then_some(100_000));
        }
        assert_eq!(announced.into_bytes(), pieces.concat());
        assert_eq!(body.into_bytes(), pieces.concat());
    }

    #[test]
    fn a_large_body_is_joined_in_steps() {
        let pieces: Vec<Vec<u8>> = (0..20).map(|place| vec![place; STEP / 2]).collect();
        let mut body = Gathered::default();
        for piece in &pieces {
            body.add(&**piece, None);
        }
        body.add(&b"end"[..], None);
        let length = body.len();
        let mut steps = 1;
        while !body.join() {
            steps += 1;
            assert_eq!((body.len(), body.whole.capacity()), (length, length));
        }
        assert_eq!(steps, 10);
        assert_eq!(
            body.into_bytes(),
            [pieces.concat(), b"end".to_vec()].concat()
        );
    }

    #[test]
    fn how_a_body_begins_does_not_depend_on_its_pieces() {
        let text: Vec<u8> = (0..=255).cycle().take(3 * BEGINNING).collect();
        for size in [1, 100, SMALL_PIECE + 1, BEGINNING, text.len()] {
            for announced in [None, Some(text.len())] {
                let mut body = Gathered::default();
                for piece in text.chunks(size) {
                    body.add(piece, announced);
                }
                assert_eq!(body.beginning(), text[..BEGINNING]);
            }
        }
    }

    #[test]
    fn a_body_of_one_piece_is_not_copied() {
        let piece = Bytes::from_static(b"whole");
        for announced in [None, Some(5)] {
            let mut body = Gathered::default();
            body.add(piece.clone(), announced);
            assert_eq!(body.into_bytes().as_ptr(), piece.as_ptr());
        }
        assert!(Gathered::default().into_bytes().is_empty());
    }

    #[test]
    fn what_is_announced_is_taken_up_at_once() {
        let mut body = Gathered::default();
        body.add(&b"one"[..], Some(1000));
        body.add(&b"two"[..], Some(1000));
        assert_eq!((body.whole.capacity(), body.size_with(3)), (1000, 1000));
        body.add(&b"six"[..], None);
        assert_eq!(body.len(), 9);
        assert_eq!(body.into_bytes(), "onetwosix");
    }

    #[test]
    fn what_came_before_the_size_was_known_stands_first() {
        let mut body = Gathered::default();
        body.add(&b"one"[..], None);
        body.add(&b"two"[..], None);
        body.add(&b"six"[..], Some(9));
        assert_eq!((body.len(), body.whole.capacity()), (9, 9));
        assert_eq!(body.into_bytes(), "onetwosix");
    }
}
