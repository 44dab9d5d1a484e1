"""The real scheduler beside ours: `search` compares the two, `trace` records."""
