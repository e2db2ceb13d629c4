"""Guards of the logins that are in use: proxyctl's own, and the monitor's account."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxyctl.plan.guards.access import Access, blind_monitor, lockouts, replaced_logins
from proxyctl.state.row import Layer
from tests.support.build import desired, diff


class TestAdminAccess:
    ACCESS = Access("radmin", "s3cret", "10.0.0.1", 6032)

    def said(self, name, before, after, **access):
        wanted = desired("admin_variables")
        found = diff(replace(wanted, rows={(name,): (name, after)}), {(name,): (name, before)})
        return [
            danger.message
            for danger in lockouts(found.changes[Layer.RUNTIME], replace(self.ACCESS, **access))
        ]

    def test_the_login_in_use_does_not_become_one_for_statistics(self):
        said = self.said("admin-stats_credentials", "stats:stats", "stats:stats;radmin:s3cret")
        assert said == [
            "admin-stats_credentials: radmin, the login in use, could only read statistics"
        ]
        assert self.said("admin-stats_credentials", "stats:stats", "other:x") == []

    @pytest.mark.parametrize(
        ("after", "is_refused"),
        [
            ("127.0.0.1:6032", True),
            ("10.0.0.2:6032", True),
            ("0.0.0.0:6033", True),
            ("127.0.0.1:6032;10.0.0.1:6032", False),
            ("0.0.0.0:6032;/tmp/admin.sock", False),
        ],
    )
    def test_the_address_in_use_is_still_listened_to(self, after, is_refused):
        assert bool(self.said("admin-mysql_ifaces", "0.0.0.0:6032", after)) is is_refused

    def test_a_name_may_be_any_address_but_a_loopback(self):
        def said(after):
            return self.said("admin-mysql_ifaces", "0.0.0.0:6032", after, host="px1.example.com")

        assert said("10.0.0.9:6032") == []
        assert said("127.0.0.1:6032") != []

    def test_nothing_is_known_behind_a_forwarded_port(self):
        changed = ("admin-mysql_ifaces", "0.0.0.0:6032", "127.0.0.1:6032")
        assert self.said(*changed, port=16032) == []

    def test_a_socket_in_use_stays(self):
        before = "0.0.0.0:6032;/tmp/admin.sock"
        said = self.said("admin-mysql_ifaces", before, "0.0.0.0:6032", socket="/tmp/admin.sock")
        assert said == [
            "admin-mysql_ifaces: ProxySQL would no longer listen on /tmp/admin.sock, the address in"
            " use"
        ]


def test_a_name_is_a_user_or_a_login_of_the_admin_interface_unless_it_is_both_already():
    (danger,) = replaced_logins({"app", "boss"}, {"radmin", "boss"}, before=())
    assert danger.message.startswith("boss would be a user and a login of the admin interface")
    assert [*replaced_logins({"app", "boss"}, {"radmin", "boss"}, before={"boss"})] == []


class TestMonitorCredentials:
    def said(self, before, after, *, is_on=True):
        name = "mysql-monitor_password"
        wanted = replace(desired("mysql_variables"), rows={(name,): (name, after)})
        found = diff(wanted, {(name,): (name, before)})
        return [one.message for one in blind_monitor(found.changes[Layer.RUNTIME], is_on=is_on)]

    def test_a_monitor_that_is_off_and_a_password_that_was_empty_are_no_danger(self):
        assert self.said("monitor", "", is_on=False) == []
        assert self.said("", "monitor") == []
