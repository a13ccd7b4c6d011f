"""Real client libraries against a real broker process, over TCP."""
