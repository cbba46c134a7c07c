"""Column for the state of a comment's article, so that one index lists the comments of published ones.

A trigger updates the comments when any statement changes the article, in the same transaction. A new comment gets the
state when it is stored (`models.tables.comment`). Neither counts as a change of the comment.
"""

from models import ddl

STAMP = """
    UPDATE comments SET article_status = NEW.status
    WHERE tenant_id = NEW.tenant_id AND article_id = NEW.id AND article_status <> NEW.status;
"""
SQLITE = (
    f"""
    CREATE TRIGGER articles_stamp_comments AFTER UPDATE OF status ON articles WHEN NEW.status <> OLD.status BEGIN
        {STAMP}
    END
    """,
)
POSTGRES = (
    f"""
    CREATE FUNCTION articles_stamp_comments() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        {STAMP}
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER articles_stamp_comments AFTER UPDATE OF status ON articles
    FOR EACH ROW WHEN (NEW.status <> OLD.status) EXECUTE FUNCTION articles_stamp_comments()
    """,
)


def up(migrator, db):
    ddl.run(
        db,
        "ALTER TABLE comments ADD COLUMN article_status {key} NOT NULL DEFAULT ''",
        """
        UPDATE comments SET article_status = (SELECT status FROM articles
            WHERE articles.tenant_id = comments.tenant_id AND articles.id = comments.article_id)
        """,
        # Ends like the other indexes of states (0003), so it also serves the sort `status,-created_at`.
        "CREATE INDEX comments_public ON comments (tenant_id, article_status, status, created_at DESC, id DESC)",
        *(SQLITE if db.dialect == "sqlite" else POSTGRES),
    )
