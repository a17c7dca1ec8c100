"""Files and tables made from a document."""
