"""A loopback Hugging Face Hub: the real client talks to it, its Jobs are real processes of this machine."""
