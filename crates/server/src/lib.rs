//! Write a server of the Model Context Protocol.

#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the router is the one who decodes arguments")
)]
mod arguments;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the router is the one who lists schemas")
)]
mod schema;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the router is the one who checks values")
)]
mod validate;

pub use schema::NoArguments;
