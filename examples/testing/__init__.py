"""An application, and its tests with a cluster that comes with Barnabas."""
