"""The story of README.md, with a client that openapi-python-client generates from the OpenAPI document."""

from __future__ import annotations

import os

from gatepost_client import AuthenticatedClient
from gatepost_client.api.articles import (
    articles_approve,
    articles_create,
    articles_delete,
    articles_get,
    articles_list,
    articles_publish,
    articles_submit,
    articles_update,
)
from gatepost_client.api.policy import policy_explain
from gatepost_client.api.session import session_log_in
from gatepost_client.models import (
    Article,
    ArticleChanges,
    ArticleExpansion,
    ArticleList,
    ArticleSort,
    ArticleStatus,
    Explanation,
    Login,
    NewArticle,
    Problem,
    Token,
)
from gatepost_client.types import UNSET

URL, NAME = os.environ["BASE_URL"], os.environ["NAME"]
# The generator calls every operation that accepts a token with one. This client sends none.
GUEST = AuthenticatedClient(base_url=URL, token="", prefix="", auth_header_name="X-Nobody")


def log_in() -> AuthenticatedClient:
    body = Login(email=os.environ["EMAIL"], password=os.environ["PASSWORD"])
    answer = session_log_in.sync(client=GUEST, body=body)
    assert isinstance(answer, Token), answer
    return AuthenticatedClient(base_url=URL, token=answer.access_token)


def a_guest_is_refused() -> None:
    answer = articles_create.sync_detailed(
        client=GUEST, body=NewArticle(title="Hello", slug="hello", body="A first article."))
    assert answer.status_code == 401
    assert isinstance(answer.parsed, Problem)
    assert answer.parsed.code == "unauthenticated"


def a_role_is_explained(admin: AuthenticatedClient) -> None:
    answer = policy_explain.sync(client=admin, as_="guest", permission="article.create")
    assert isinstance(answer, Explanation), answer
    assert answer.verdict == "refused"
    assert "no rule gives article.create to guest" in answer.summary


def an_article_is_published(admin: AuthenticatedClient) -> Article:
    made = articles_create.sync_detailed(client=admin, idempotency_key=f"{NAME}-first", body=NewArticle(
        title="First light", slug=f"{NAME}-first", body="Morning."))
    article = made.parsed
    assert isinstance(article, Article), article
    assert made.headers["Location"] == f"/api/articles/{article.id}"
    assert article.status is ArticleStatus.DRAFT

    hidden = articles_get.sync(article.id, client=GUEST)
    assert isinstance(hidden, Problem) and hidden.code == "not_found"

    changed = articles_update.sync(article.id, client=admin, if_match=f'"{article.version}"',
                                   body=ArticleChanges(title="Last light"))
    assert isinstance(changed, Article) and changed.title == "Last light", changed
    stale = articles_delete.sync(article.id, client=admin, if_match='"1"')
    assert isinstance(stale, Problem) and stale.code == "version_conflict", stale

    submitted = articles_submit.sync(article.id, client=admin)
    assert isinstance(submitted, Article) and submitted.status is ArticleStatus.IN_REVIEW, submitted
    approved = articles_approve.sync(article.id, client=admin)
    assert isinstance(approved, Article) and approved.status is ArticleStatus.APPROVED, approved
    published = articles_publish.sync(article.id, client=admin)
    assert isinstance(published, Article) and published.status is ArticleStatus.PUBLISHED, published

    read = articles_get.sync(article.id, client=GUEST, expand=[ArticleExpansion.CATEGORY])
    assert isinstance(read, Article) and read.title == "Last light", read
    assert read.category is None
    return article


def every_page_is_read(admin: AuthenticatedClient, first: Article) -> None:
    for slug in (f"{NAME}-second", f"{NAME}-third"):
        made = articles_create.sync(client=admin, body=NewArticle(title="Another", slug=slug, body="Words."))
        assert isinstance(made, Article), made
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = articles_list.sync(
            client=admin, limit=1, sort=ArticleSort.CREATED_AT, slug_in=[f"{NAME}-second", first.slug],
            status_in=[ArticleStatus.DRAFT, ArticleStatus.PUBLISHED], cursor=cursor or UNSET)
        assert isinstance(page, ArticleList), page
        found += [article.slug for article in page.items]
        cursor = page.next_cursor or None
        if cursor is None:
            break
    assert found == [first.slug, f"{NAME}-second"]


if __name__ == "__main__":
    caller = log_in()
    a_guest_is_refused()
    a_role_is_explained(caller)
    every_page_is_read(caller, an_article_is_published(caller))
    print("told")
