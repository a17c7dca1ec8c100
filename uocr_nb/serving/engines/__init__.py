"""Engine profiles: how each engine is launched, when it is ready, and how it is asked."""
