"""Services on `barnabas.App`, each of one page; docs/patterns says what happens when they fail."""
