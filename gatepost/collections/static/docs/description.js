// What the OpenAPI document describes: its operations by tag, and the part of it that describes one operation.
const METHODS = ["get", "put", "post", "delete", "patch", "head", "options"];

// Ids of elements as RapiDoc makes them, so that a fragment names an operation to it too.
const plain = (text) => text.replace(/[\s#:?&={}]/g, "-");
const idOf = (method, path) => `${method}-${plain(path)}`;

const byName = (one, other) => one.name.localeCompare(other.name);

export class Description {
  constructor(document) {
    this._document = document;
    this._operations = Object.entries(document.paths)
      .sort(([one], [other]) => one.localeCompare(other))
      .flatMap(([path, item]) => METHODS.filter((method) => method in item).map((method) => ({
        ...item[method], elementId: idOf(method, path), method, path,
        parameters: (item[method].parameters ?? []).map((one) => referred(one, document.components) ?? one),
      })));
  }

  // Tags with their operations: {name, description, elementId, operations}. An operation has method, path, elementId and
  // what the document says of it.
  tags() {
    const described = new Map(this._document.tags.map(({ name, description }) => [name, description]));
    const names = new Set(this._operations.flatMap(({ tags }) => tags));
    return [...names].map((name) => ({
      name,
      description: described.get(name) ?? "",
      elementId: `tag--${plain(name)}`,
      operations: this._operations.filter(({ tags }) => tags.includes(name)),
    })).sort(byName);
  }

  // An OpenAPI document of one operation, with what it refers to. RapiDoc takes seconds for the whole document.
  partOf(elementId, server) {
    const { method, path } = this._operations.find((operation) => operation.elementId === elementId);
    const { parameters = [], [method]: operation } = this._document.paths[path];
    const { paths, components, ...others } = this._document;
    const part = { [path]: { parameters, [method]: operation } };
    const used = { securitySchemes: components.securitySchemes };
    collect(part, components, used);
    // A copy, because RapiDoc writes into what it is given.
    return structuredClone({ ...others, servers: [{ url: server }], paths: part, components: used });
  }
}

const place = ({ $ref }) => /^#\/components\/(\w+)\/(.+)$/.exec($ref)?.slice(1) ?? [];

// The component to which a value refers, if it does.
function referred(value, components) {
  const [kind, name] = place(value);
  return components[kind]?.[name];
}

// Adds to `used` the components to which a value refers, directly or through others.
function collect(value, components, used) {
  if (typeof value !== "object" || value === null) return;
  const found = referred(value, components);
  const [kind, name] = place(value);
  if (found && !used[kind]?.[name]) {
    (used[kind] ??= {})[name] = found;
    collect(found, components, used);
  }
  for (const inner of Object.values(value)) collect(inner, components, used);
}
