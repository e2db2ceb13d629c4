"""Galera nodes and ProxySQL in containers, managed by proxyctl.

PROXYCTL_TEST_PXC_IMAGE and PROXYCTL_TEST_PROXYSQL_IMAGE name the images.
"""
