"""What the cluster agrees on: the record types, and the image that replaying them builds."""
