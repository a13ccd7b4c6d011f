"""`make demo`: a website's activity through a cluster and Spark, live, a node killed."""
