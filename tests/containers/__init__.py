"""Galera nodes and ProxySQL in containers, and proxyctl in the middle of it.

The images are named by PROXYCTL_TEST_PXC_IMAGE and PROXYCTL_TEST_PROXYSQL_IMAGE.
"""
