//! Many servers of the Model Context Protocol as one.
