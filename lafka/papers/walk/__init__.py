"""From a futli to its fut: trails, outcomes, pages; a state machine without I/O."""
