//! What if tools and prompts come and go?
//!
//! A `Handle` changes the server while clients are connected; those who asked for it hear of
//! the change.
//!
//! Specification: server/tools, server/prompts (list changed), server/resources
//! (subscriptions); 2026-07-28 basic/patterns/subscriptions.

use switchboard_server::{Handle, Server, prompt, tool};

use crate::resources::WATCHED;

pub(crate) fn offer(server: Server) -> Server {
    let handle = server.handle();
    let trigger = |name: &str, description: &str, change: fn(&Handle)| {
        let handle = handle.clone();
        let function = move || {
            change(&handle);
            async { "Changed" }
        };
        tool(name, function).description(description)
    };
    let server = server
        .tool(trigger(
            "test_trigger_tool_change",
            "Switches a tool on or off.",
            switch_tool,
        ))
        .tool(trigger(
            "test_trigger_prompt_change",
            "Switches a prompt on or off.",
            switch_prompt,
        ))
        .tool(trigger(
            "test_trigger_resource_update",
            "Says that the watched resource has changed.",
            update_resource,
        ));
    server
        .tool(tool(TOOL, async || "Still here").description("Comes and goes."))
        .prompt(prompt(PROMPT, async || "Say something.").description("Comes and goes."))
}

fn switch_tool(handle: &Handle) {
    // Switching on what is on changes nothing: then it is time to switch it off.
    if !handle.enable_tool(TOOL, true) {
        handle.enable_tool(TOOL, false);
    }
}

fn switch_prompt(handle: &Handle) {
    if !handle.enable_prompt(PROMPT, true) {
        handle.enable_prompt(PROMPT, false);
    }
}

fn update_resource(handle: &Handle) {
    handle.resource_updated(WATCHED);
}

const TOOL: &str = "test_changing_tool";

const PROMPT: &str = "test_changing_prompt";
