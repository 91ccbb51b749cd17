//! The body of a request: there already, or read as it is wanted.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite};

use super::lock;
use super::wire::Wire;
use crate::http::chunks::PartError;

/// The body of a request that came on a connection.
#[derive(Debug)]
pub struct Incoming<S>(Content<S>);

#[derive(Debug)]
enum Content<S> {
    /// All of it.
    Whole(Bytes),
    /// It is read from there, as long as this request is the last.
    Coming {
        wire: Arc<Mutex<Box<Wire<S>>>>,
        request: u32,
    },
}

impl<S> Incoming<S> {
    pub(super) const fn whole(body: Bytes) -> Self {
        Self(Content::Whole(body))
    }

    pub(super) const fn coming(wire: Arc<Mutex<Box<Wire<S>>>>, request: u32) -> Self {
        Self(Content::Coming { wire, request })
    }

    /// All of it, if it is there and no larger than this; then nothing is left.
    pub(in crate::http) fn take_whole(&mut self, limit: usize) -> Option<Bytes> {
        match &mut self.0 {
            Content::Whole(body) if body.len() <= limit => Some(std::mem::take(body)),
            Content::Whole(_) | Content::Coming { .. } => None,
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Body for Incoming<S> {
    type Data = Bytes;
    type Error = PartError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, PartError>>> {
        match &mut self.0 {
            Content::Whole(body) if body.is_empty() => Poll::Ready(None),
            Content::Whole(body) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(body))))),
            Content::Coming { wire, request } => {
                let mut wire = lock(wire);
                if wire.progress.requests != *request || !wire.progress.is_serving {
                    let error = "the request was answered before its body was read";
                    return Poll::Ready(Some(Err(error.into())));
                }
                let part = wire.poll_part(cx);
                part.map(|part| part.map(|part| part.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Content::Whole(body) => body.is_empty(),
            Content::Coming { .. } => self.size_hint().exact() == Some(0),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Whole(body) => SizeHint::with_exact(body.len() as u64),
            Content::Coming { wire, .. } => {
                let (least, most) = lock(wire).left();
                let mut hint = SizeHint::new();
                hint.set_lower(least);
                if let Some(most) = most {
                    hint.set_upper(most);
                }
                hint
            }
        }
    }
}
