"""The ground floor: blocks, pages and documents, the grammar of answers, and the verdict on a page."""
