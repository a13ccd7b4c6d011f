"""What the coordinators of groups and transactions share: decisions, deadlines, record format."""
