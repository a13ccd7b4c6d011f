"""`make demo`: a small web shop's page views through a real broker, watched live and verified."""
