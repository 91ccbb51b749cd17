//! Where there are no sockets that only a user can open: gateways cannot be asked yet.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Answers, Request};
use crate::exit::Failure;
use crate::json::Json;

#[derive(Debug)]
pub(crate) struct Desk(());

impl Desk {
    pub(crate) fn open() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) async fn run(&self, _: Arc<impl Answers>) {
        std::future::pending().await
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Visit(());

impl Visit {
    pub(crate) async fn ask(&self, _: &Request) -> Result<Json, Failure> {
        Err(unsupported())
    }

    pub(crate) async fn follow(
        &self,
        _: &Request,
        _: impl FnMut(Json) -> io::Result<()>,
    ) -> Result<(), Failure> {
        Err(unsupported())
    }

    pub(crate) fn socket(&self) -> String {
        String::new()
    }
}

pub(crate) async fn find_all(_: Option<&Path>, _: Option<&Path>) -> Result<Vec<Visit>, Failure> {
    Err(unsupported())
}

pub(crate) async fn choose(_: Option<&Path>, _: Option<&Path>) -> Result<Visit, Failure> {
    Err(unsupported())
}

fn unsupported() -> Failure {
    Failure::usage("a gateway cannot be asked on this system")
}
