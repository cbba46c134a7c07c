"""States, roles and actions are shown in the reader's language; addresses and forms keep the plain values."""

from __future__ import annotations

from flask import Flask

from gatepost.http.protocol.messages import Translations
from tests.apps import Given
from tests.http.console.pages import Seen, visit

SAY = Translations("de").wanted


def test_every_value_role_and_action_of_the_shipped_collections_has_german_words(app: Flask) -> None:
    services = app.extensions["gatepost"]
    with app.test_request_context("/?lang=de") as context:
        say = SAY(context.request).say
    values = set(services.policy.current.roles.names)
    for collection in services.collections.values():
        values.update(value for name in collection.representation.names for value in collection.values_of(name))
        values.update(text for action in collection.actions for text in (action.name, action.about))
    assert sorted(value for value in values if value and say(value) == value) == []


def test_a_list_and_a_row_show_german_words_and_send_plain_values(app: Flask, given: Given) -> None:
    admin = visit(app, "admin")
    article = given.article("draft", title="Ein Entwurf")
    listed = Seen.of(admin.get("/console/data/articles?lang=de&status=draft"))
    assert 'value="draft">Entwurf' in admin.get("/console/data/articles?lang=de").text and "Entwurf" in listed.text
    shown = admin.get(f"/console/data/articles/{article.id}?lang=de").text
    assert '<bdi title="draft">Entwurf</bdi>' in shown and f'/articles/{article.id}/publish"' in shown
    assert ">veröffentlichen</button>" in shown and "Für alle Leser sichtbar machen." in shown


def test_roles_are_german_where_users_are_listed(app: Flask, given: Given) -> None:
    user = given.user("editor", name="Ella Esche")
    page = visit(app, "admin").get("/console/people?lang=de&q=Ella&role=editor")
    assert '<bdi title="editor">Redakteur</bdi>' in page.text and 'value="editor" selected>Redakteur' in page.text
    assert user.id in page.text


def test_a_value_without_a_translation_stays_as_it_is(app: Flask, given: Given) -> None:
    given.user("night_watch", name="Nils Nacht")
    assert "<bdi>night_watch</bdi>" in visit(app, "admin").get("/console/people?lang=de&q=Nils").text
