import pytest

from barnabas.client.group.progress_groups import purpose_of, waits_for


@pytest.mark.parametrize(
    ("group_id", "said"),
    [
        ("orders-dead.replay", "which dead letters of orders-dead were sent back"),
        ("barnabas-mirror.a-to-b", "how far mirror a-to-b is"),
        ("barnabas-mirror.a->b.driver", "mirror a->b records there its warnings"),
        ("barnabas-mirror.a->b.failover", "failback copies from the beginning"),
        ("mails.delayed", "which delayed records of mails were moved"),
        ("billing.retry", "which records of the retry topics of billing were handled"),
    ],
)
def test_who_records_progress_is_known_by_its_name(group_id: str, said: str) -> None:
    assert said in (purpose_of(group_id) or "")


@pytest.mark.parametrize(
    "group_id", ["billing", "replay", "mirror", "replays", "delayed", "retry", ""]
)
def test_groups_of_consumers_have_no_such_purpose(group_id: str) -> None:
    assert purpose_of(group_id) is None


def test_workers_of_a_service_are_missed_and_a_tool_is_not() -> None:
    assert "workers of mails" in (waits_for("mails.delayed") or "")
    assert "handles as billing" in (waits_for("billing.retry") or "")
    assert waits_for("orders-dead.replay") is None
    assert waits_for("billing") is None
