"""The service that runs connectors: settings, REST API, failover."""
