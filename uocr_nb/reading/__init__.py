"""Page images in, a document out: one request, many requests, and the order of pages."""
