"""One file per module of proxyctl: no network beyond loopback, no clock."""
