// What the types refuse, and what they tell; never run.
import { etag, Gatepost, GatepostError, type Kind } from "gatepost-client";

const client = new Gatepost("");

for await (const row of client.articles.list({ fields: ["id", "title"], expand: ["category"] })) {
  const told: { id: string; title: string } = row;
  const category: { name: string } | null = row.category;
  // @ts-expect-error: it was not chosen
  void [told, category, row.body];
}
for await (const row of client.articles.list()) {
  const status: "archived" | "approved" | "draft" | "in_review" | "published" = row.status;
  // @ts-expect-error: it was not expanded
  void [status, row.category];
}
const found = await client.articles.get("1");
const version: string | undefined = found[etag];
await client.articles.update(found, { title: version ?? "" });
await client.articles.update("1", { category_id: null });
await client.articles.publish(found);

// @ts-expect-error: no filter has this name
client.articles.list({ colour: "red" });
// @ts-expect-error: no article has this status
client.articles.list({ status: "lost" });
// @ts-expect-error: articles are not sorted by their bodies
client.articles.list({ sort: "body" });
// @ts-expect-error: a list that goes on by itself takes no cursor
client.articles.list({ cursor: "c" });
// @ts-expect-error: no article has this field
client.articles.list({ fields: ["price"] });
// @ts-expect-error: an article has a body
client.articles.create({ title: "T", slug: "t" });
// @ts-expect-error: nobody sets this
client.articles.update("1", { status: "published" });
// @ts-expect-error: a product has no such action
client.products.submit("1");
// @ts-expect-error: orders cannot be imported
client.orders.import([]);
// @ts-expect-error: an export has no pages
client.articles.export({ limit: 10 });
// @ts-expect-error: users are always imported at once
client.users.importLater([]);
// @ts-expect-error: a row without its id and its version is not known to be that object
client.articles.update({ title: "T" }, {});

try {
  await client.me();
} catch (error) {
  if (!(error instanceof GatepostError)) throw error;
  // @ts-expect-error: no problem has this code
  void (error.code === "nonsense");
  void (error.code === "token_expired" || error.code === "connection_lost");
}

interface Bookmarks extends Kind {
  row: { id: string; url: string };
  field: "id" | "url";
}
for await (const row of client.collection<Bookmarks>("bookmarks").list({ fields: ["url"] })) {
  const url: string = row.url;
  void url;
}
