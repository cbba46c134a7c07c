"""The collections of the service, each with the types of its rows and filters."""

# Written by generate.py from the OpenAPI document of the service.
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Unpack

from . import types as t
from .caller import Caller
from .collection import Collection, Target
from .jobs import JobFiles
from .stored import Stored


class Articles(Collection):
    def list(self, **query: Unpack[t.ArticleListQuery]) -> Iterator[t.Article]:
        return self._list(query)

    def page(self, **query: Unpack[t.ArticlePageQuery]) -> t.ArticleList:
        page: t.ArticleList = self._page(query)
        return page

    def create(self, new: t.NewArticle) -> Stored[t.Article]:
        return self._create(new, keyed=True)

    def get(self, id: str, **view: Unpack[t.ArticleView]) -> Stored[t.Article]:
        return self._get(id, view)

    def replace(self, target: Target, new: t.NewArticle, *, etag: str | None = None) -> Stored[t.Article]:
        return self._replace(target, new, etag)

    def update(self, target: Target, changes: t.ArticleChanges, *, etag: str | None = None) -> Stored[t.Article]:
        return self._update(target, changes, etag)

    def delete(self, target: Target, *, etag: str | None = None) -> None:
        self._delete(target, etag)

    def approve(self, target: Target, *, etag: str | None = None) -> Stored[t.Article]:
        return self._act(target, "approve", etag)

    def archive(self, target: Target, *, etag: str | None = None) -> Stored[t.Article]:
        return self._act(target, "archive", etag)

    def publish(self, target: Target, *, etag: str | None = None) -> Stored[t.Article]:
        return self._act(target, "publish", etag)

    def reject(self, target: Target, *, etag: str | None = None) -> Stored[t.Article]:
        return self._act(target, "reject", etag)

    def submit(self, target: Target, *, etag: str | None = None) -> Stored[t.Article]:
        return self._act(target, "submit", etag)

    def export(self, **query: Unpack[t.ArticleFilters]) -> Iterator[t.Article]:
        return self._export(query)

    def export_later(self, media_type: str = "application/x-ndjson", **query: Unpack[t.ArticleFilters]) -> t.Job:
        return self._export_later(query, media_type)

    def import_(self, rows: Iterable[Mapping[str, object]], **query: Unpack[t.ArticleImportQuery]) -> t.Imported:
        return self._import(rows, query)

    def import_later(self, rows: Iterable[Mapping[str, object]], **query: Unpack[t.ArticleImportQuery]) -> t.Job:
        return self._import_later(rows, query)

    def shares(self, target: Target) -> Iterator[t.Share]:
        return self._shares(target)

    def share(self, target: Target, grantee: str, right: t.ShareRight) -> None:
        self._share(target, {"grantee": grantee, "right": right})

    def unshare(self, target: Target, grantee: str) -> None:
        self._unshare(target, grantee)


class Audit(Collection):
    def list(self, **query: Unpack[t.AuditListQuery]) -> Iterator[t.Audit]:
        return self._list(query)

    def page(self, **query: Unpack[t.AuditPageQuery]) -> t.AuditList:
        page: t.AuditList = self._page(query)
        return page

    def get(self, id: str, **view: Unpack[t.AuditView]) -> Stored[t.Audit]:
        return self._get(id, view)


class Categories(Collection):
    def list(self, **query: Unpack[t.CategoryListQuery]) -> Iterator[t.Category]:
        return self._list(query)

    def page(self, **query: Unpack[t.CategoryPageQuery]) -> t.CategoryList:
        page: t.CategoryList = self._page(query)
        return page

    def create(self, new: t.NewCategory) -> Stored[t.Category]:
        return self._create(new, keyed=True)

    def get(self, id: str, **view: Unpack[t.CategoryView]) -> Stored[t.Category]:
        return self._get(id, view)

    def replace(self, target: Target, new: t.NewCategory, *, etag: str | None = None) -> Stored[t.Category]:
        return self._replace(target, new, etag)

    def update(self, target: Target, changes: t.CategoryChanges, *, etag: str | None = None) -> Stored[t.Category]:
        return self._update(target, changes, etag)

    def delete(self, target: Target, *, etag: str | None = None) -> None:
        self._delete(target, etag)

    def export(self, **query: Unpack[t.CategoryFilters]) -> Iterator[t.Category]:
        return self._export(query)

    def export_later(self, media_type: str = "application/x-ndjson", **query: Unpack[t.CategoryFilters]) -> t.Job:
        return self._export_later(query, media_type)

    def import_(self, rows: Iterable[Mapping[str, object]], **query: Unpack[t.CategoryImportQuery]) -> t.Imported:
        return self._import(rows, query)

    def import_later(self, rows: Iterable[Mapping[str, object]], **query: Unpack[t.CategoryImportQuery]) -> t.Job:
        return self._import_later(rows, query)

    def shares(self, target: Target) -> Iterator[t.Share]:
        return self._shares(target)

    def share(self, target: Target, grantee: str, right: t.ShareRight) -> None:
        self._share(target, {"grantee": grantee, "right": right})

    def unshare(self, target: Target, grantee: str) -> None:
        self._unshare(target, grantee)


class Comments(Collection):
    def list(self, **query: Unpack[t.CommentListQuery]) -> Iterator[t.Comment]:
        return self._list(query)

    def page(self, **query: Unpack[t.CommentPageQuery]) -> t.CommentList:
        page: t.CommentList = self._page(query)
        return page

    def create(self, new: t.NewComment) -> Stored[t.Comment]:
        return self._create(new, keyed=True)

    def get(self, id: str, **view: Unpack[t.CommentView]) -> Stored[t.Comment]:
        return self._get(id, view)

    def replace(self, target: Target, new: t.CommentReplacement, *, etag: str | None = None) -> Stored[t.Comment]:
        return self._replace(target, new, etag)

    def update(self, target: Target, changes: t.CommentChanges, *, etag: str | None = None) -> Stored[t.Comment]:
        return self._update(target, changes, etag)

    def delete(self, target: Target, *, etag: str | None = None) -> None:
        self._delete(target, etag)

    def approve(self, target: Target, *, etag: str | None = None) -> Stored[t.Comment]:
        return self._act(target, "approve", etag)

    def reject(self, target: Target, *, etag: str | None = None) -> Stored[t.Comment]:
        return self._act(target, "reject", etag)

    def export(self, **query: Unpack[t.CommentFilters]) -> Iterator[t.Comment]:
        return self._export(query)

    def export_later(self, media_type: str = "application/x-ndjson", **query: Unpack[t.CommentFilters]) -> t.Job:
        return self._export_later(query, media_type)

    def import_(self, rows: Iterable[Mapping[str, object]], **query: Unpack[t.CommentImportQuery]) -> t.Imported:
        return self._import(rows, query)

    def import_later(self, rows: Iterable[Mapping[str, object]], **query: Unpack[t.CommentImportQuery]) -> t.Job:
        return self._import_later(rows, query)

    def shares(self, target: Target) -> Iterator[t.Share]:
        return self._shares(target)

    def share(self, target: Target, grantee: str, right: t.ShareRight) -> None:
        self._share(target, {"grantee": grantee, "right": right})

    def unshare(self, target: Target, grantee: str) -> None:
        self._unshare(target, grantee)


class Contact(Collection):
    def list(self, **query: Unpack[t.ContactListQuery]) -> Iterator[t.Contact]:
        return self._list(query)

    def page(self, **query: Unpack[t.ContactPageQuery]) -> t.ContactList:
        page: t.ContactList = self._page(query)
        return page

    def create(self, new: t.NewContact) -> t.Receipt:
        answer: t.Receipt = self._submit(new)
        return answer

    def get(self, id: str, **view: Unpack[t.ContactView]) -> Stored[t.Contact]:
        return self._get(id, view)

    def delete(self, target: Target, *, etag: str | None = None) -> None:
        self._delete(target, etag)


class Jobs(JobFiles):
    def list(self, **query: Unpack[t.JobListQuery]) -> Iterator[t.Job]:
        return self._list(query)

    def page(self, **query: Unpack[t.JobPageQuery]) -> t.JobList:
        page: t.JobList = self._page(query)
        return page

    def get(self, id: str, **view: Unpack[t.JobView]) -> Stored[t.Job]:
        return self._get(id, view)

    def delete(self, target: Target, *, etag: str | None = None) -> None:
        self._delete(target, etag)

    def retry(self, target: Target, *, etag: str | None = None) -> Stored[t.Job]:
        return self._act(target, "retry", etag)


class Orders(Collection):
    def list(self, **query: Unpack[t.OrderListQuery]) -> Iterator[t.Order]:
        return self._list(query)

    def page(self, **query: Unpack[t.OrderPageQuery]) -> t.OrderList:
        page: t.OrderList = self._page(query)
        return page

    def create(self, new: t.NewOrder) -> Stored[t.Order]:
        return self._create(new, keyed=True)

    def get(self, id: str, **view: Unpack[t.OrderView]) -> Stored[t.Order]:
        return self._get(id, view)

    def replace(self, target: Target, new: t.OrderReplacement, *, etag: str | None = None) -> Stored[t.Order]:
        return self._replace(target, new, etag)

    def update(self, target: Target, changes: t.OrderChanges, *, etag: str | None = None) -> Stored[t.Order]:
        return self._update(target, changes, etag)

    def delete(self, target: Target, *, etag: str | None = None) -> None:
        self._delete(target, etag)

    def approve(self, target: Target, *, etag: str | None = None) -> Stored[t.Order]:
        return self._act(target, "approve", etag)

    def cancel(self, target: Target, *, etag: str | None = None) -> Stored[t.Order]:
        return self._act(target, "cancel", etag)

    def complete(self, target: Target, *, etag: str | None = None) -> Stored[t.Order]:
        return self._act(target, "complete", etag)

    def refund(self, target: Target, *, etag: str | None = None) -> Stored[t.Order]:
        return self._act(target, "refund", etag)

    def reject(self, target: Target, *, etag: str | None = None) -> Stored[t.Order]:
        return self._act(target, "reject", etag)

    def ship(self, target: Target, *, etag: str | None = None) -> Stored[t.Order]:
        return self._act(target, "ship", etag)

    def export(self, **query: Unpack[t.OrderFilters]) -> Iterator[t.Order]:
        return self._export(query)

    def export_later(self, media_type: str = "application/x-ndjson", **query: Unpack[t.OrderFilters]) -> t.Job:
        return self._export_later(query, media_type)

    def shares(self, target: Target) -> Iterator[t.Share]:
        return self._shares(target)

    def share(self, target: Target, grantee: str, right: t.ShareRight) -> None:
        self._share(target, {"grantee": grantee, "right": right})

    def unshare(self, target: Target, grantee: str) -> None:
        self._unshare(target, grantee)


class Pages(Collection):
    def list(self, **query: Unpack[t.PageListQuery]) -> Iterator[t.Page]:
        return self._list(query)

    def page(self, **query: Unpack[t.PagePageQuery]) -> t.PageList:
        page: t.PageList = self._page(query)
        return page

    def create(self, new: t.NewPage) -> Stored[t.Page]:
        return self._create(new, keyed=True)

    def get(self, id: str, **view: Unpack[t.PageView]) -> Stored[t.PageText]:
        return self._get(id, view)

    def replace(self, target: Target, new: t.NewPage, *, etag: str | None = None) -> Stored[t.Page]:
        return self._replace(target, new, etag)

    def update(self, target: Target, changes: t.PageChanges, *, etag: str | None = None) -> Stored[t.Page]:
        return self._update(target, changes, etag)

    def delete(self, target: Target, *, etag: str | None = None) -> None:
        self._delete(target, etag)

    def archive(self, target: Target, *, etag: str | None = None) -> Stored[t.Page]:
        return self._act(target, "archive", etag)

    def publish(self, target: Target, *, etag: str | None = None) -> Stored[t.Page]:
        return self._act(target, "publish", etag)

    def export(self, **query: Unpack[t.PageFilters]) -> Iterator[t.Page]:
        return self._export(query)

    def export_later(self, media_type: str = "application/x-ndjson", **query: Unpack[t.PageFilters]) -> t.Job:
        return self._export_later(query, media_type)

    def import_(self, rows: Iterable[Mapping[str, object]], **query: Unpack[t.PageImportQuery]) -> t.Imported:
        return self._import(rows, query)

    def import_later(self, rows: Iterable[Mapping[str, object]], **query: Unpack[t.PageImportQuery]) -> t.Job:
        return self._import_later(rows, query)

    def shares(self, target: Target) -> Iterator[t.Share]:
        return self._shares(target)

    def share(self, target: Target, grantee: str, right: t.ShareRight) -> None:
        self._share(target, {"grantee": grantee, "right": right})

    def unshare(self, target: Target, grantee: str) -> None:
        self._unshare(target, grantee)


class Products(Collection):
    def list(self, **query: Unpack[t.ProductListQuery]) -> Iterator[t.Product]:
        return self._list(query)

    def page(self, **query: Unpack[t.ProductPageQuery]) -> t.ProductList:
        page: t.ProductList = self._page(query)
        return page

    def create(self, new: t.NewProduct) -> Stored[t.Product]:
        return self._create(new, keyed=True)

    def get(self, id: str, **view: Unpack[t.ProductView]) -> Stored[t.Product]:
        return self._get(id, view)

    def replace(self, target: Target, new: t.NewProduct, *, etag: str | None = None) -> Stored[t.Product]:
        return self._replace(target, new, etag)

    def update(self, target: Target, changes: t.ProductChanges, *, etag: str | None = None) -> Stored[t.Product]:
        return self._update(target, changes, etag)

    def delete(self, target: Target, *, etag: str | None = None) -> None:
        self._delete(target, etag)

    def archive(self, target: Target, *, etag: str | None = None) -> Stored[t.Product]:
        return self._act(target, "archive", etag)

    def publish(self, target: Target, *, etag: str | None = None) -> Stored[t.Product]:
        return self._act(target, "publish", etag)

    def export(self, **query: Unpack[t.ProductFilters]) -> Iterator[t.Product]:
        return self._export(query)

    def export_later(self, media_type: str = "application/x-ndjson", **query: Unpack[t.ProductFilters]) -> t.Job:
        return self._export_later(query, media_type)

    def import_(self, rows: Iterable[Mapping[str, object]], **query: Unpack[t.ProductImportQuery]) -> t.Imported:
        return self._import(rows, query)

    def import_later(self, rows: Iterable[Mapping[str, object]], **query: Unpack[t.ProductImportQuery]) -> t.Job:
        return self._import_later(rows, query)

    def shares(self, target: Target) -> Iterator[t.Share]:
        return self._shares(target)

    def share(self, target: Target, grantee: str, right: t.ShareRight) -> None:
        self._share(target, {"grantee": grantee, "right": right})

    def unshare(self, target: Target, grantee: str) -> None:
        self._unshare(target, grantee)


class Sessions(Collection):
    def list(self, **query: Unpack[t.SessionListQuery]) -> Iterator[t.Session]:
        return self._list(query)

    def page(self, **query: Unpack[t.SessionPageQuery]) -> t.SessionList:
        page: t.SessionList = self._page(query)
        return page

    def delete(self, id: str) -> None:
        self._delete(id, None)


class Tokens(Collection):
    def list(self, **query: Unpack[t.ServiceTokenListQuery]) -> Iterator[t.ServiceToken]:
        return self._list(query)

    def page(self, **query: Unpack[t.ServiceTokenPageQuery]) -> t.ServiceTokenList:
        page: t.ServiceTokenList = self._page(query)
        return page

    def create(self, new: t.NewServiceToken) -> Stored[t.ServiceToken]:
        return self._create(new, keyed=False)

    def delete(self, target: Target, *, etag: str | None = None) -> None:
        self._delete(target, etag)


class Users(Collection):
    def list(self, **query: Unpack[t.UserListQuery]) -> Iterator[t.User]:
        return self._list(query)

    def page(self, **query: Unpack[t.UserPageQuery]) -> t.UserList:
        page: t.UserList = self._page(query)
        return page

    def create(self, new: t.NewUser) -> Stored[t.User]:
        return self._create(new, keyed=True)

    def get(self, id: str, **view: Unpack[t.UserView]) -> Stored[t.User]:
        return self._get(id, view)

    def replace(self, target: Target, new: t.UserReplacement, *, etag: str | None = None) -> Stored[t.User]:
        return self._replace(target, new, etag)

    def update(self, target: Target, changes: t.UserChanges, *, etag: str | None = None) -> Stored[t.User]:
        return self._update(target, changes, etag)

    def delete(self, target: Target, *, etag: str | None = None) -> None:
        self._delete(target, etag)

    def disable(self, target: Target, *, etag: str | None = None) -> Stored[t.User]:
        return self._act(target, "disable", etag)

    def enable(self, target: Target, *, etag: str | None = None) -> Stored[t.User]:
        return self._act(target, "enable", etag)

    def export(self, **query: Unpack[t.UserFilters]) -> Iterator[t.User]:
        return self._export(query)

    def export_later(self, media_type: str = "application/x-ndjson", **query: Unpack[t.UserFilters]) -> t.Job:
        return self._export_later(query, media_type)

    def import_(self, rows: Iterable[Mapping[str, object]], **query: Unpack[t.UserImportQuery]) -> t.Imported:
        return self._import(rows, query)

    def shares(self, target: Target) -> Iterator[t.Share]:
        return self._shares(target)

    def share(self, target: Target, grantee: str, right: t.ShareRight) -> None:
        self._share(target, {"grantee": grantee, "right": right})

    def unshare(self, target: Target, grantee: str) -> None:
        self._unshare(target, grantee)


class Resources:
    """All collections of the service, each under its name."""

    def __init__(self, caller: Caller) -> None:
        self.articles = Articles(caller, "articles")
        self.audit = Audit(caller, "audit")
        self.categories = Categories(caller, "categories")
        self.comments = Comments(caller, "comments")
        self.contact = Contact(caller, "contact")
        self.jobs = Jobs(caller, "jobs")
        self.orders = Orders(caller, "orders")
        self.pages = Pages(caller, "pages")
        self.products = Products(caller, "products")
        self.sessions = Sessions(caller, "sessions")
        self.tokens = Tokens(caller, "tokens")
        self.users = Users(caller, "users")
