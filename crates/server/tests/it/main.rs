//! The server as its users see it: public API on one side, raw messages on the other.

mod tasks;
mod tasks_client;
mod tasks_experimental;
mod tasks_http;
