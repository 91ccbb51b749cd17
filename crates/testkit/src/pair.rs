//! A client machine and a server machine, connected in memory.
