//! What clients see of the servers, in all four cells.

use switchboard_client::types::SubscriptionFilter;
use switchboard_client::{Change, State};

use crate::cell::{Cell, in_each, soon};

#[tokio::test]
async fn everything_of_all_servers_is_listed_in_one_order() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["two", "one"]).await;
        let tools = soon(cell.client.tools()).await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names.len(), 22);
        assert!(names[0].starts_with("one__") && names[21].starts_with("two__"));
        let prompts = soon(cell.client.prompts()).await.unwrap();
        let prompts: Vec<_> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        assert_eq!(prompts, ["one__review", "two__review"]);
        assert_eq!(soon(cell.client.resources()).await.unwrap().len(), 2);
        let templates = soon(cell.client.resource_templates()).await.unwrap();
        assert_eq!(templates.len(), 2);
        let State::Ready(ready) = cell.client.state() else {
            panic!("{}", cell.client.state());
        };
        let instructions = ready.instructions.as_deref();
        assert_eq!(instructions, Some("# one\n\nBe kind.\n\n# two\n\nBe kind."));
        assert!(ready.capabilities.completions.is_some());
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn clients_hear_of_new_tools_in_the_manner_of_their_era() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let mut filter = SubscriptionFilter::default();
        filter.tools_list_changed = Some(true);
        let mut changes = soon(cell.client.listen(filter)).await.unwrap();
        assert_eq!(cell.text("one__grow").await, "grown");
        let change = soon(changes.next()).await.unwrap();
        assert_eq!(change, Some(Change::Tools));
        assert_eq!(cell.text("one__grown").await, "new");
        cell.close().await;
    })
    .await;
}
