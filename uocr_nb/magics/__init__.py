"""The IPython face: parse, call the plain function, display."""
