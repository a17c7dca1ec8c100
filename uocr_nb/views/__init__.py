"""What a person sees: the page with its boxes beside the parsed text, figures, and messages."""
