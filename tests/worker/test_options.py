"""What the command says of an option that is wrong: one sentence and an exit code, before the database is asked."""

import pytest
from django.core.management import load_command_class


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--backend", "nowhere"], 1, "--backend nowhere"),
        (["--threads", "0"], 1, "--threads must be a whole number from 1 to 512, or a range such as 2-16, got '0'."),
        (["--threads", "-3"], 1, "or a range such as 2-16, got '-3'."),
        (["--threads", "16-2"], 1, "or a range such as 2-16, got '16-2'."),
        (["--grace", "-1"], 1, "--grace must be 0 or more seconds"),
        (["--grace", "nan"], 1, "--grace must be 0 or more seconds"),
        (["--grace", "soon"], 2, "invalid float value: 'soon'"),
        (["--worker-id", "x" * 200], 1, "--worker-id must be at most"),
        (["--worker-id", "a\nb"], 1, "--worker-id must be at most"),
        (["--colour"], 2, "unrecognized arguments: --colour"),
        (["--max-tasks", "0"], 1, "--max-tasks must be a whole number of at least 1, got 0."),
        (["--max-tasks", "x"], 2, "invalid int value: 'x'"),
        (["--max-time", "0"], 1, "--max-time must be more than 0 seconds, got 0."),
        (["--max-time", "nan"], 1, "--max-time must be more than 0 seconds, got nan."),
        (["--max-rss", "1"], 1, "--max-rss must be more than the "),
        (["--wait-for-db", "-1"], 1, "--wait-for-db must be 0 or more seconds, got -1.0."),
        (["--heartbeat-file", "/nowhere/at/all"], 1, "--heartbeat-file must name a file that can be written: "),
    ],
)
def test_a_wrong_option_is_told_in_one_sentence(capsys, options, code, sentence):
    with pytest.raises(SystemExit) as end:
        load_command_class("django_locqueue", "runqueue").run_from_argv(["manage.py", "runqueue", *options])
    assert end.value.code == code
    said = capsys.readouterr().err
    assert said.count(sentence) == 1
    assert "Traceback" not in said
