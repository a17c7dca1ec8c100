"""Endpoints: engines, the hosts they run on, and how they are stopped whatever happens."""
