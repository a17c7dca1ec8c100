"""What users hand over becomes a stream of page images."""
