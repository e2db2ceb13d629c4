"""client_addr: no address of a client is called impossible, nor the beginning of one."""

from __future__ import annotations

import socket

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxyctl.routing.addresses import (
    Interface,
    client_addr_of_nobody,
    client_addr_too_wide,
    interfaces_of,
)


def written(address):
    """Return an address as the system writes it."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    return socket.inet_ntop(family, address.packed)


addresses = st.ip_addresses().map(written)


@given(addresses)
@example("::")
@example("::1")
@example("1::")
@example("::ffff:10.0.0.1")
@example("::10.0.0.1")
@example("fe80::1")
@example("localhost")
def test_an_address_of_a_client_is_possible(address):
    assert client_addr_of_nobody(address) is None
    for end in range(len(address) + 1):
        assert client_addr_of_nobody(f"{address[:end]}%") is None


@given(addresses)
def test_an_address_with_something_behind_it_is_not(address):
    for end in (" ", "/32", ",", "x", ":6033.", ".0.0.0.0"):
        assert client_addr_of_nobody(address + end) is not None


@pytest.mark.parametrize(
    ("client_addr", "longer"),
    [
        ("10.0.0.1%", "10.0.0.10"),
        ("10.2%", "10.20"),
        ("1%", "10"),
        ("10.0.0.25%", "10.0.0.250"),
        ("10.0.0.26%", None),
        ("10.0.0.0%", None),
        ("10.%", None),
        ("10.0.0.1", None),
        ("fe80::1%", None),
        ("%", None),
    ],
)
def test_a_beginning_that_ends_in_a_number(client_addr, longer):
    wide = client_addr_too_wide(client_addr)
    assert (wide and wide.problem.rpartition(" ")[2]) == longer


def test_the_entries_that_proxysql_listens_on():
    text = "0.0.0.0:6033;[::]:6034; /tmp/proxysql.sock;localhost:6035"
    assert interfaces_of(text) == [
        Interface("0.0.0.0", 6033),
        Interface("::", 6034),
        Interface("/tmp/proxysql.sock", 0),
        Interface("localhost", 6035),
    ]
