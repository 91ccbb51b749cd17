//! Write a server of the Model Context Protocol.
