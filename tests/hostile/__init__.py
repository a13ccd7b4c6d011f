"""Clients that mean harm, or behave as if they did: what they cost the node and other clients."""
