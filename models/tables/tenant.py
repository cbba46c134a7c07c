"""Tenants: organisations that share an instance, none of which sees another's rows."""

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
        """A new tenant. Raises `AlreadyExists`."""
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
        """When the first tenant was made, and the instance with it."""
        # Across tenants: the table is theirs.
        return cls.select(pw.fn.MIN(cls.created_at)).scalar()

    @classmethod
    def all(cls) -> list[Tenant]:
        return list(cls.select().order_by(cls.name))
