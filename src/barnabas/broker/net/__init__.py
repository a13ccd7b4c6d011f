"""Sockets: listening, connections, frames."""
