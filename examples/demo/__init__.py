"""`make demo`: a small web shop's page views through a cluster that loses nodes, live, verified."""
