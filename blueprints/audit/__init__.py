"""The audit log over HTTP (`endpoints`) and for operators (`commands`). `gatepost.http.auditing` writes it."""

from gatepost.features import Command, Feature

feature = Feature(
    name="audit", permissions=("audit.view", "audit.view_facts"), rows={"audit": "models.tables.audit:Audit"},
    extends={"console": "blueprints.audit.pages"},
    commands={"audit": Command("blueprints.audit.commands:audit", "Show, export and verify the audit log.")})
