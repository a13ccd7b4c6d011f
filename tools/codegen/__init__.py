"""Makes the codecs in src/barnabas/wire/messages from the schema table there."""
