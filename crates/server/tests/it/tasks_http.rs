//! Tasks over HTTP: whose they are.
