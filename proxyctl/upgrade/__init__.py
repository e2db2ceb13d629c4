"""What an upgrade of ProxySQL changes for a configuration, and what somebody must decide.

`subject` is the configuration under both releases, the other files are chapters of findings, and
`check` puts them in order. Only `read` connects to an instance.
"""
