//! Redirects, told and not followed: whoever plays a browser wants to see each of them.

use http::HeaderMap;
use http::header::LOCATION;
use switchboard_transport::http::client::{ClientSettings, HttpClient};

/// A client that follows none.
pub(crate) fn client() -> Result<HttpClient, String> {
    let mut settings = ClientSettings::default();
    settings.follows_redirects = false;
    HttpClient::new(settings).map_err(|error| error.to_string())
}

/// Where an answer leads.
pub(crate) fn location(headers: &HeaderMap) -> Result<&str, String> {
    let location = headers.get(LOCATION).and_then(|text| text.to_str().ok());
    location.ok_or_else(|| "the page leads nowhere".to_owned())
}
