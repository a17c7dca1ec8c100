"""The engines we serve ourselves, in a process of their own."""
