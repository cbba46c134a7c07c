"""A sample of `make contracts`, and the parsing of its findings."""

from __future__ import annotations

from tests.clients.contracts import Accepted, Finding, Run, accepted, campaign, compare, parsed

SAID = """
______________________________ GET /api/articles _______________________________
1. Test Case ID: 5R1hiK

- ST105 Undocumented Content-Type

    Received: text/plain
    Documented: application/json

- ST201 Schema-violating request accepted

    Invalid data should have been rejected

[431] Request Header Fields Too Large:

    `exceeds`

    curl -X GET 'http://127.0.0.1:1/api/articles?fields=id'

2. Test Case ID: 0bzIsV

- ST101 Server error

[500] Internal Server Error:

    `{"code":"internal_error","errors":[]}`

________________________________ POST /api/login _______________________________
1. Test Case ID: aaa

- ST109 Response timeout

=================================== SUMMARY ====================================
"""


def test_a_sample_of_requests_as_guest_user_and_admin_finds_nothing_unknown(tmp_path):
    unknown, _ = compare(campaign(Run(seed=1, examples=1, phases="examples,fuzzing"), tmp_path), accepted())
    assert [str(finding) for finding in unknown] == []


def test_every_finding_is_read_with_its_check_and_status():
    found = [(finding.operation, finding.check, finding.status) for finding in parsed("guest", SAID)]
    assert found == [("GET /api/articles", "ST105", 431), ("GET /api/articles", "ST201", 431),
                     ("GET /api/articles", "ST101", 500), ("POST /api/login", "ST109", 0)]
    assert next(parsed("guest", SAID)).told.startswith(
        "ST105 Undocumented Content-Type: Received: text/plain Documented: application/json")
    assert [finding.codes for finding in parsed("guest", SAID)] == [("",), ("",), ("internal_error",), ("",)]


def test_a_row_that_lacks_what_was_not_asked_for_is_told_from_one_that_lacks_it_though_it_was():
    lacks = """______ GET /api/articles ______
1. Test Case ID: 5R1hiK

- ST108 Response violates schema

    "category_id" is a required property

[200] OK:

    curl -X GET 'http://127.0.0.1:1/api/articles%s'
"""
    assert [next(parsed("guest", lacks % query)).codes for query in ("?fields=id", "?lang=de")] == [("fields",), ("",)]


def test_what_the_list_does_not_name_is_unknown_and_an_entry_that_found_nothing_is_idle():
    entries = [Accepted("ST105", 431, "", ("GET /api/*",), ("guest",), "a reason"),
               Accepted("ST101", 500, "internal_error", ("POST *",), ("*",), "another")]
    found = list(parsed("guest", SAID))
    unknown, idle = compare(found, entries)
    assert [finding.check for finding in unknown] == ["ST201", "ST101", "ST109"]
    assert idle == [entries[1]]
    as_user = Finding("user", "GET /api/articles", "ST105", 431, ("",), "")
    assert compare([as_user], entries)[0] == [as_user]


def test_an_answer_with_several_errors_is_accepted_only_if_each_of_them_is():
    entry = Accepted("ST202", 400, "invalid_field", ("POST /api/register",), ("*",), "a reason")
    told = """______ POST /api/register ______
1. Test Case ID: 5R1hiK

- ST202 Schema-valid request rejected

[400] Bad Request:

    `{"code":"invalid_body","errors":[{"code":"invalid_field"},{"code":"invalid_field"}%s]}`

Reproduce with:

    curl -X POST -d '{"code":"mine"}' http://127.0.0.1:1/api/register
"""
    more = list(parsed("guest", told % ',{"code":"out_of_range"}'))
    assert compare(parsed("guest", told % ""), [entry]) == ([], [])
    assert compare(more, [entry]) == (more, [])


def test_every_accepted_finding_has_a_reason():
    assert all(len(entry.reason.split()) > 5 for entry in accepted())
