"""Whether a peer has taken over what was loaded, and why not. The rules are a table of cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum

from proxyctl.cluster.checksums import MODULES, Checksum, saving
from proxyctl.cluster.membership import Member, Membership, lacks_account, off_by
from proxyctl.result import NotFollowing


class Why(StrEnum):
    """Why a peer does not follow."""

    NOT_REACHED = "not_reached"
    OTHER_VERSION = "other_version"
    NO_ACCOUNT = "no_account"
    SWITCHED_OFF = "switched_off"
    NOT_LISTED = "not_listed"
    NEVER_LOADED = "never_loaded"
    NEWER = "newer"
    SPLIT = "split"
    ROWS = "rows"
    KEPT = "kept"
    PLACING = "placing"
    OTHER = "other"


FINAL = frozenset(
    {
        Why.OTHER_VERSION,
        Why.NO_ACCOUNT,
        Why.SWITCHED_OFF,
        Why.NEVER_LOADED,
        Why.NEWER,
        Why.SPLIT,
    }
)
"""What does not go by while somebody waits."""


def reasons(
    loaded: Mapping[str, Checksum], member: Member, here: Membership
) -> Iterator[NotFollowing]:
    """Yield in which modules a peer has not taken over what was loaded, and why.

    `loaded`: the checksums of this instance after its last LOAD, by name.
    """
    for name, ours in loaded.items():
        theirs = member.checksums.get(name)
        agrees = theirs is not None and theirs.is_known and theirs.checksum == ours.checksum
        if agrees and _is_since(name, ours, member):
            continue
        if agrees:
            why, text = Why.NOT_REACHED, f"not reached ({member.problem})"
        else:
            why, text = _why(name, ours, theirs, member, here)
        yield NotFollowing(MODULES[name], why, text, _holds(theirs), way_out(why, member, theirs))


def _is_since(name: str, ours: Checksum, member: Member) -> bool:
    """Return whether what is known of a peer is of after the LOAD here.

    One that is gone may have held the same before. What it took over from here has the same epoch.
    """
    return (
        member.was_asked
        or member.checksums[name].epoch == ours.epoch
        or member.seen_at.get(name, 0) > ours.epoch
    )


def _why(
    name: str, ours: Checksum, theirs: Checksum | None, member: Member, here: Membership
) -> tuple[Why, str]:
    if member.was_asked:
        if not here.exchanges_with(member):
            return Why.OTHER_VERSION, (
                f"it is ProxySQL {member.version_text}, and takes nothing over from"
                f" {here.version_text}"
            )
        empty = lacks_account(member.variables)
        if empty:
            return Why.NO_ACCOUNT, f"its {empty} is empty: it asks no peer"
        off = off_by(name, member.variables)
        if off:
            return Why.SWITCHED_OFF, f"{off} there"
        if here.itself is not None and here.itself not in member.lists:
            return Why.NOT_LISTED, "its proxysql_servers does not list this instance"
    if theirs is None or not theirs.is_known:
        return Why.NOT_REACHED, f"it has never answered this instance ({member.problem})"
    if theirs.version > 1 and theirs.epoch == ours.epoch:
        return Why.SPLIT, (
            "it was loaded in the same second with other content: neither follows the other"
        )
    if theirs.version > 1 and theirs.epoch > ours.epoch:
        return Why.NEWER, "it was loaded later with other content, which comes here"
    if ours.version <= 1:
        return Why.NEVER_LOADED, "this instance stands at version 1, which nobody follows"
    if not member.was_asked:
        return Why.NOT_REACHED, f"not reached ({member.problem})"
    return Why.OTHER, "it has not taken it over; its log may say why"


def _holds(theirs: Checksum | None) -> str:
    if theirs is None or not theirs.is_known:
        return "what it holds is not known"
    when = datetime.fromtimestamp(theirs.epoch, UTC)
    verb = "it began with" if theirs.version == 1 else "was loaded"
    return f"it holds what {verb} {when:%Y-%m-%d %H:%M:%S} UTC"


def way_out(why: Why, member: Member, theirs: Checksum | None = None) -> str:
    """Return how to finish at a peer. `theirs`: the checksum that it has, where that matters."""
    match why:
        case Why.NOT_REACHED if theirs is None or not theirs.is_known:
            return "look at its address in proxysql_servers, and whether this instance gets there"
        case Why.NOT_REACHED:
            return "it follows by itself when it answers again"
        case Why.NO_ACCOUNT | Why.SWITCHED_OFF | Why.NOT_LISTED | Why.OTHER_VERSION:
            return f"mend that, or apply at {member.name} as well"
        case Why.NEWER:
            return "run plan again: what was loaded there counts now"
        case Why.SPLIT | Why.NEVER_LOADED | Why.ROWS:
            return f"apply at {member.name}: what is loaded there becomes the newest"
        case Why.KEPT:
            return f"apply at {member.name}: only that row is left to do there"
        case Why.PLACING:
            return "look at RUNTIME and the monitor's log there if that goes on"
        case Why.OTHER:
            # It still sees newer content here: without --force its guards refuse.
            return (
                "it follows by itself when what its log names is mended; until then an apply at"
                f" {member.name} needs --force"
            )


def rows_differ(left: Mapping[str, int], member: Member) -> Iterator[NotFollowing]:
    """Yield the modules whose rows differ at a peer although its checksums agree."""
    for module, count in left.items():
        rows = "1 row differs" if count == 1 else f"{count} rows differ"
        text = f"its checksum agrees, and {rows} at RUNTIME"
        yield NotFollowing(module, Why.ROWS, text, "", way_out(Why.ROWS, member))


def saves_nothing(loaded: Iterable[str], member: Member) -> Iterator[str]:
    """Yield what a peer that follows does not save, so that a restart there takes it back."""
    for name in loaded:
        if member.variables.get(saving(name)) == "false":
            yield (
                f"{MODULES[name]}: {saving(name)} is false there: not saved, a restart brings the"
                " old content back until it follows again"
            )
