"""Products and orders.

The checks are the last line of defence: stock and amounts are guarded where orders are placed.
"""

from models import ddl

TABLES = (
    """
    CREATE TABLE products (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        owner_id {id},
        department {key},
        name {key} NOT NULL,
        sku {key} NOT NULL,
        description TEXT,
        price {money} NOT NULL CHECK (price >= 0),
        currency {key} NOT NULL,
        stock {money} NOT NULL CHECK (stock >= 0),
        category_id {id},
        status {key} NOT NULL,
        UNIQUE (tenant_id, id),
        CONSTRAINT products_sku UNIQUE (tenant_id, sku),
        FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id) ON DELETE RESTRICT,
        FOREIGN KEY (tenant_id, category_id) REFERENCES categories (tenant_id, id) ON DELETE RESTRICT
    ) {strict}
    """,
    """
    CREATE TABLE orders (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        owner_id {id},
        department {key},
        note TEXT,
        total {money} NOT NULL CHECK (total >= 0),
        currency {key} NOT NULL,
        status {key} NOT NULL,
        UNIQUE (tenant_id, id),
        FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id) ON DELETE RESTRICT
    ) {strict}
    """,
    """
    CREATE TABLE order_items (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        order_id {id} NOT NULL,
        position INTEGER NOT NULL,
        product_id {id} NOT NULL,
        quantity {money} NOT NULL CHECK (quantity > 0),
        unit_price {money} NOT NULL CHECK (unit_price >= 0),
        UNIQUE (tenant_id, order_id, position),
        FOREIGN KEY (tenant_id, order_id) REFERENCES orders (tenant_id, id) ON DELETE CASCADE,
        FOREIGN KEY (tenant_id, product_id) REFERENCES products (tenant_id, id) ON DELETE RESTRICT
    ) {strict}
    """,
)

INDEXES = (
    "CREATE INDEX products_created ON products (tenant_id, created_at, id)",
    "CREATE INDEX products_updated ON products (tenant_id, updated_at, id)",
    "CREATE INDEX products_name ON products (tenant_id, name, id)",
    "CREATE INDEX products_price ON products (tenant_id, price, id)",
    "CREATE INDEX products_stock ON products (tenant_id, stock, id)",
    "CREATE INDEX products_status ON products (tenant_id, status, created_at DESC, id DESC)",
    "CREATE INDEX products_owner ON products (tenant_id, owner_id, created_at, id)",
    "CREATE INDEX products_category ON products (tenant_id, category_id, created_at, id)",
    "CREATE INDEX orders_created ON orders (tenant_id, created_at, id)",
    "CREATE INDEX orders_updated ON orders (tenant_id, updated_at, id)",
    "CREATE INDEX orders_total ON orders (tenant_id, total, id)",
    "CREATE INDEX orders_status ON orders (tenant_id, status, created_at DESC, id DESC)",
    "CREATE INDEX orders_owner ON orders (tenant_id, owner_id, created_at, id)",
    "CREATE INDEX order_items_product ON order_items (tenant_id, product_id)",
)


def up(migrator, db):
    ddl.run(db, *TABLES, *INDEXES)
