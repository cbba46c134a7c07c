"""A file of another kind in place of a policy file: findings name file and line, and show none of its text."""

from __future__ import annotations

from pathlib import Path

import pytest

from policies import PolicyError, load
from policies.cases.case_file import failures
from policies.loading.loader import CASES_FILE
from policies.wording.finding import QUOTED
from tests.policies.editing import add_line, shipped_copy
from tests.policies.shipped_vocabulary import VOCABULARY
from tests.running import Instance

SECRETS = ("hunter2", "c3RvcmVkc2VjcmV0", "$6$salt")
FOREIGN = {
    "shadow": "root:$6$salt$hunter2,c3RvcmVkc2VjcmV0:19700:0:99999:7:::\ndaemon:*:19700:0:99999:7:::\n",
    "key": "-----BEGIN PRIVATE KEY-----\nc3RvcmVkc2VjcmV0\nhunter2==\n-----END PRIVATE KEY-----\n",
    "JSON": '{"hunter2": [1, "c3RvcmVkc2VjcmV0"]}\n',
    "environment": "PASSWORD=hunter2\nTOKEN='c3RvcmVkc2VjcmV0'\nhunter2=1\n[hunter2]=$6$salt\n[$6$salt\n",
    "YAML": "password: hunter2\nother: *hunter2\n",
    "YAML tag": "!hunter2 {a: !c3RvcmVkc2VjcmV0 b}\n",
    "words": "hunter2\nc3RvcmVkc2VjcmV0 $6$salt\n",
}


def said(folder: Path) -> str:
    """Returns all errors in a folder of policy files, and in its cases."""
    try:
        policy = load(folder, VOCABULARY)
    except PolicyError as error:
        return str(error)
    return "\n".join(map(str, failures(policy, folder / CASES_FILE)))


@pytest.mark.parametrize("name", ["articles.csv", "secret.csv", "roles.csv", "model.conf", CASES_FILE])
def test_a_file_that_is_no_policy_is_named_and_not_quoted(tmp_path, name):
    """Tries each foreign file as a link and as a copy."""
    folder, other, faults = shipped_copy(tmp_path / "policies"), tmp_path / "foreign", {}
    for foreign, content in FOREIGN.items():
        for put in (Path.symlink_to, Path.write_bytes):
            other.write_text(content)
            (folder / name).unlink(missing_ok=True)
            put(folder / name, other if put is Path.symlink_to else other.read_bytes())
            text = said(folder)
            if f"{name}:" not in text or any(secret in text for secret in SECRETS):
                faults[foreign, put.__name__] = text
    assert faults == {}


def test_the_command_quotes_none_of_it_either(tmp_path):
    instance = Instance(tmp_path / "instance").made()
    (instance.folder / "policies" / "secret.csv").write_text(FOREIGN["shadow"])
    for command in (("policy", "check"), ("policy", "check", "--json"), ("doctor",)):
        done = instance.run(*command)
        assert done.returncode == 1
        assert "secret.csv" in done.stdout
        assert not [secret for secret in SECRETS if secret in done.stdout + done.stderr]


@pytest.mark.parametrize("line", [
    "p, {}, article.view, always, allow", "p, user, {}, always, allow", "p, user, article.view, {}, allow",
    "p, user, article.view, always, {}", "p2, {}, article.view", "p2, read:articles, {}", "g, {}, user",
    "g, editor, {}"])
def test_a_word_of_a_policy_line_is_cut_short(tmp_path, line):
    folder = shipped_copy(tmp_path / "policies")
    add_line(folder / "articles.csv", line.format("x" * 10_000))
    text = said(folder)
    assert f"`{'x' * QUOTED}…`" in text
    assert "x" * (QUOTED + 1) not in text
