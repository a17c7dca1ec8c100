"""What the text of a block means: tables, maths, markdown, safe HTML."""
