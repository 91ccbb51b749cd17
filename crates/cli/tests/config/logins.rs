//! login, logout, auth.
