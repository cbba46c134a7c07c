"""What the service is for, as one story: an article from its draft to its readers, and who never sees it."""

from __future__ import annotations

import pytest

from tests.apps import PASSWORD


@pytest.fixture
def author(given, client):
    """Somebody who logged in with e-mail and password, as a client of the service does."""
    from tests.apps import Caller

    user = given.user("editor", password=PASSWORD)
    answer = client.post("/api/login", json={"email": user.email, "password": PASSWORD})
    assert answer.status_code == 200
    return Caller(client, user, answer.get_json()["access_token"])


def test_an_article_is_written_found_published_and_read_by_a_guest(author, as_role):
    made = author.post("/api/articles", {"title": "First light", "slug": "first-light", "body": "Morning."})
    assert made.status_code == 201
    article = made.get_json()
    assert (article["status"], article["owner_id"], article["version"]) == ("draft", author.id, 1)
    assert made.headers["Location"] == f"/api/articles/{article['id']}"

    listed = author.get(f"/api/articles?owner_id={author.id}").get_json()["items"]
    assert listed == [article]
    assert as_role("guest").get(f"/api/articles/{article['id']}").status_code == 404

    published = author.post(f"/api/articles/{article['id']}/publish")
    assert (published.status_code, published.get_json()["status"]) == (200, "published")
    read = as_role("guest").get(f"/api/articles/{article['id']}")
    assert (read.status_code, read.get_json()) == (200, published.get_json())
