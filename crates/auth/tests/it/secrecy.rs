//! Nothing that is printed or logged has a secret in it.
