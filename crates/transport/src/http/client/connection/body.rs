//! The parts of a body.
//!
//! Specification: RFC 9112, sections 6 and 7.1.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use super::{Connection, READ_SIZE};
use crate::http::chunks::{Chunks, PartError, Step, take};

/// What is still to come of a body.
#[derive(Debug)]
pub(super) enum Remaining {
    Nothing,
    Exactly(u64),
    Chunks(Chunks),
    UntilClosed,
}

impl Connection {
    /// The next part of the answer's body, `None` after the last.
    pub(in crate::http::client) fn poll_part(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, PartError>> {
        loop {
            let step = match &mut self.remaining {
                Remaining::Nothing | Remaining::Exactly(0) => Step::End,
                Remaining::Exactly(left) => take(&mut self.buffer, left),
                Remaining::Chunks(chunks) => chunks.step(&mut self.buffer)?,
                Remaining::UntilClosed => {
                    let mut all = u64::MAX;
                    take(&mut self.buffer, &mut all)
                }
            };
            match step {
                Step::Part(part) => return Poll::Ready(Ok(Some(part))),
                Step::End => {
                    self.remaining = Remaining::Nothing;
                    return Poll::Ready(Ok(None));
                }
                Step::Wait => {}
            }
            let size = match self.remaining {
                Remaining::Exactly(left) => usize::try_from(left).unwrap_or(usize::MAX),
                // As long as there is always more, more is read at once.
                _ => self.last_read.saturating_mul(2),
            };
            let count = ready!(self.poll_read(cx, size.clamp(READ_SIZE, LARGEST_READ)))?;
            self.last_read = count;
            if count == 0 {
                return Poll::Ready(match self.remaining {
                    Remaining::UntilClosed => {
                        self.remaining = Remaining::Nothing;
                        Ok(None)
                    }
                    _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                });
            }
        }
    }
}

const LARGEST_READ: usize = 64 * 1024;
