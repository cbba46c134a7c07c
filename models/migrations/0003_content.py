"""Categories, articles, comments and pages.

An index whose second column is the status ends in `created_at DESC, id DESC`: it serves the sort
`status,-created_at` as well as one status in either direction.
"""

from models import ddl

TABLES = (
    """
    CREATE TABLE categories (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        owner_id {id},
        department {key},
        name {key} NOT NULL,
        slug {key} NOT NULL,
        parent_id {id},
        UNIQUE (tenant_id, id),
        CONSTRAINT categories_slug UNIQUE (tenant_id, slug),
        FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id) ON DELETE RESTRICT,
        FOREIGN KEY (tenant_id, parent_id) REFERENCES categories (tenant_id, id) ON DELETE RESTRICT
    ) {strict}
    """,
    """
    CREATE TABLE articles (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        owner_id {id},
        department {key},
        title {key} NOT NULL,
        slug {key} NOT NULL,
        body TEXT NOT NULL,
        language {key} NOT NULL,
        category_id {id},
        status {key} NOT NULL,
        published_at {time},
        UNIQUE (tenant_id, id),
        CONSTRAINT articles_slug UNIQUE (tenant_id, slug),
        FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id) ON DELETE RESTRICT,
        FOREIGN KEY (tenant_id, category_id) REFERENCES categories (tenant_id, id) ON DELETE RESTRICT
    ) {strict}
    """,
    """
    CREATE TABLE comments (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        owner_id {id},
        department {key},
        article_id {id} NOT NULL,
        body TEXT NOT NULL,
        status {key} NOT NULL,
        FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id) ON DELETE RESTRICT,
        FOREIGN KEY (tenant_id, article_id) REFERENCES articles (tenant_id, id) ON DELETE RESTRICT
    ) {strict}
    """,
    """
    CREATE TABLE pages (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        owner_id {id},
        department {key},
        slug {key} NOT NULL,
        language {key} NOT NULL,
        title {key} NOT NULL,
        body TEXT NOT NULL,
        status {key} NOT NULL,
        published_at {time},
        CONSTRAINT pages_slug UNIQUE (tenant_id, slug, language),
        FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id) ON DELETE RESTRICT
    ) {strict}
    """,
)

INDEXES = (
    "CREATE INDEX categories_created ON categories (tenant_id, created_at, id)",
    "CREATE INDEX categories_updated ON categories (tenant_id, updated_at, id)",
    "CREATE INDEX categories_name ON categories (tenant_id, name, id)",
    "CREATE INDEX categories_owner ON categories (tenant_id, owner_id, created_at, id)",
    "CREATE INDEX categories_parent ON categories (tenant_id, parent_id, created_at, id)",
    "CREATE INDEX articles_created ON articles (tenant_id, created_at, id)",
    "CREATE INDEX articles_updated ON articles (tenant_id, updated_at, id)",
    "CREATE INDEX articles_title ON articles (tenant_id, title, id)",
    "CREATE INDEX articles_published ON articles (tenant_id, published_at, id)",
    "CREATE INDEX articles_status ON articles (tenant_id, status, created_at DESC, id DESC)",
    "CREATE INDEX articles_owner ON articles (tenant_id, owner_id, created_at, id)",
    "CREATE INDEX articles_category ON articles (tenant_id, category_id, created_at, id)",
    "CREATE INDEX comments_created ON comments (tenant_id, created_at, id)",
    "CREATE INDEX comments_updated ON comments (tenant_id, updated_at, id)",
    "CREATE INDEX comments_status ON comments (tenant_id, status, created_at DESC, id DESC)",
    "CREATE INDEX comments_owner ON comments (tenant_id, owner_id, created_at, id)",
    "CREATE INDEX comments_article ON comments (tenant_id, article_id, created_at, id)",
    "CREATE INDEX pages_created ON pages (tenant_id, created_at, id)",
    "CREATE INDEX pages_updated ON pages (tenant_id, updated_at, id)",
    "CREATE INDEX pages_title ON pages (tenant_id, title, id)",
    "CREATE INDEX pages_slug_order ON pages (tenant_id, slug, id)",
    "CREATE INDEX pages_published ON pages (tenant_id, published_at, id)",
    "CREATE INDEX pages_status ON pages (tenant_id, status, created_at DESC, id DESC)",
    "CREATE INDEX pages_owner ON pages (tenant_id, owner_id, created_at, id)",
)


def up(migrator, db):
    ddl.run(db, *TABLES, *INDEXES)
