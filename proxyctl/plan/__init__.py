"""Desired rows and an instance become a Plan: `inspect` reads, `make` is pure."""
