"""What a run says of itself: its report, its outcome feed, its progress."""
