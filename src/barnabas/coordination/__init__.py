"""What the coordinators of groups and of transactions are made of: decisions and alarms."""
