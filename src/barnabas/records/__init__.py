"""Record batches, format v2: headers, records, compression, validation."""
