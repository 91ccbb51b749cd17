//! How a server that is started finds the login that the user has for it.

use switchboard_auth::{AuthError, OAuth};
use switchboard_hub::LoginRequest;

/// Describes the login of a server. Asks nobody: `switchboard login` does.
pub(crate) fn describe(request: LoginRequest<'_>) -> Result<OAuth, AuthError> {
    let hint = format!("`switchboard login {}`", request.server);
    request.login.hint(&hint).build()
}
