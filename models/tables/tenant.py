"""Tenants: organisations that share an instance and do not see each other's rows."""

from __future__ import annotations

import peewee as pw

from models.records.columns import IdField, TimeField
from models.records.ids import new_id
from models.records.table import Table
from models.records.times import now


class Tenant(Table):
    """One tenant, known to operators by its unique `name`. The only table without a tenant."""

    id = IdField(primary_key=True)
    name = pw.TextField()
    created_at = TimeField()

    class Meta:
        table_name = "tenants"

    @classmethod
    def add(cls, name: str) -> Tenant:
        """Stores a new tenant and returns it. Raises `AlreadyExists`."""
        tenant = cls(id=new_id(), name=name, created_at=now())
        cls.insert(tenant.__data__).execute()
        return tenant

    @classmethod
    def by_name(cls, name: str) -> Tenant | None:
        return cls.select().where(cls.name == name).first()

    @classmethod
    def by_id(cls, id: str) -> Tenant | None:
        return cls.select().where(cls.id == id).first()

    @classmethod
    def oldest(cls) -> str | None:
        """Returns the creation time of the first tenant, and so of the instance."""
        # Across tenants: this is the table of tenants.
        return cls.select(pw.fn.MIN(cls.created_at)).scalar()

    @classmethod
    def all(cls) -> list[Tenant]:
        return list(cls.select().order_by(cls.name))
