//! Collective operations on teams of processes.
