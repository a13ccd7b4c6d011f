"""What several test packages share: message strategies, foreign codecs, broker processes."""
