"""Types that reach the payload: by type checkers, and while a program runs."""
