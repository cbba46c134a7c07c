"""`gatepost demo`: adds demo rows to try the service with."""

from __future__ import annotations

from time import perf_counter

import click

from blueprints.demo import samples
from gatepost.collections.registry import why_left_out
from gatepost.commands.instance import open_instance
from gatepost.commands.printing import echo
from models.records.bulk import optimize
from models.tables.article import Article


@click.command()
@click.option("--articles", type=click.IntRange(1, 10_000_000), required=True, metavar="N", help="How many.")
def demo(articles: int) -> None:
    """Add N invented articles to the default tenant.

    \b
    Example: gatepost demo --articles 200000
    """
    with open_instance() as instance:
        if Article._meta.table_name in instance.settings.without:
            raise click.ClickException(f"No articles are served: {why_left_out(Article._meta.table_name, ())}.")
        tenant = instance.tenant()
        start = perf_counter()
        with click.progressbar(length=articles, label="articles") as bar:
            for size in samples.fill(instance.database, tenant.id, articles):
                bar.update(size)
        optimize(instance.database, Article)
    echo(f"Added {articles} articles in {perf_counter() - start:.1f} s.")
