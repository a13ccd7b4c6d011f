"""Producer, Consumer and Admin that block; `barnabas` offers them. Made from `barnabas.aio`."""
