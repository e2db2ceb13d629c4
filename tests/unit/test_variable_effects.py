import pytest

from proxyctl.catalog import REFERENCE, TABLES, layout_of
from proxyctl.catalog.variable_effects import (
    CAPABILITY_BITS,
    DIFFS_BY_CHECKSUM,
    pasted,
)
from proxyctl.catalog.variables import VARIABLES
from proxyctl.state.runtime import runtime_image


def test_effects_are_of_variables_that_exist():
    named = {*CAPABILITY_BITS, *DIFFS_BY_CHECKSUM, *DIFFS_BY_CHECKSUM.values()}
    assert named <= set(VARIABLES)


@pytest.mark.parametrize(
    ("text", "shown"), [("a", "a"), ('a"b', None), ('""', '"'), ('a"""b', None)]
)
def test_an_admin_variable_is_pasted_between_double_quotes(text, shown):
    assert pasted("admin-cluster_username", text) == shown
    assert pasted("mysql-init_connect", text) == text


def test_the_image_of_a_checksum_that_is_off():
    layout = layout_of(TABLES["admin_variables"], REFERENCE)
    diffs = "admin-cluster_mysql_users_diffs_before_sync"
    checksum = "admin-checksum_mysql_users"
    rows = {(diffs,): (diffs, "3"), (checksum,): (checksum, "0")}
    image = runtime_image(layout, rows)
    assert image == {(diffs,): (diffs, "0"), (checksum,): (checksum, "false")}
    assert runtime_image(layout, {(diffs,): (diffs, "3")}) == {(diffs,): (diffs, "3")}


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("mysql-have_ssl", "mysql-server_capabilities"), "33000"),
        (("mysql-server_capabilities", "mysql-have_ssl"), str(33000 | 0x800)),
    ],
)
def test_the_image_of_capabilities_depends_on_the_order_of_the_rows(names, shown):
    values = {"mysql-have_ssl": "true", "mysql-server_capabilities": "33000"}
    rows = {(name,): (name, values[name]) for name in names}
    image = runtime_image(layout_of(TABLES["mysql_variables"], REFERENCE), rows)
    assert image[("mysql-server_capabilities",)] == ("mysql-server_capabilities", shown)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("admin-cluster_username", 'a"b'),
        ("admin-admin_credentials", 'a:"'),
    ],
)
def test_some_texts_have_no_image(name, text):
    layout = layout_of(TABLES["admin_variables"], REFERENCE)
    assert runtime_image(layout, {(name,): (name, text)}) == {}
