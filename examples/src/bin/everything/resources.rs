//! Resources: what a client may read, by itself or as one of a family.
//!
//! Specification: server/resources.

use serde::Deserialize;
use serde_json::json;
use switchboard_server::{Server, resource, template};

use crate::samples::IMAGE;

pub(crate) fn offer(server: Server) -> Server {
    server
        .resource(
            resource(
                "test://static-text",
                async || "This is the content of the static text resource.",
            )
            .name("Static text")
            .description("A text that never changes.")
            .mime_type("text/plain"),
        )
        .resource(
            resource("test://static-binary", async || IMAGE.to_vec())
                .name("Static image")
                .description("An image that never changes.")
                .mime_type("image/png"),
        )
        .resource(
            resource(WATCHED, async || "Watched resource content")
                .name("Watched text")
                .description("A text to subscribe to.")
                .mime_type("text/plain"),
        )
        .template(
            template("test://template/{id}/data", data)
                .name("Data by id")
                .description("The data that belong to an id.")
                .mime_type("application/json"),
        )
}

/// What `test_trigger_resource_update` says has changed.
pub(crate) const WATCHED: &str = "test://watched-resource";

#[derive(Deserialize)]
struct Data {
    id: String,
}

async fn data(Data { id }: Data) -> String {
    let data = format!("Data for ID: {id}");
    json!({"id": id, "templateTest": true, "data": data}).to_string()
}
