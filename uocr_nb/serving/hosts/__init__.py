"""Hosts: where an engine runs."""
