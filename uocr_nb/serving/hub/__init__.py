"""Jobs of the Hugging Face Hub: the calls, the token, the money, the log, and how a Job is surely ended."""
