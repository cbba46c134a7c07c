// Writes the types of an OpenAPI document:
//   gatepost openapi > openapi.json
//   node generate.mjs openapi.json src/api.ts
//
// Of the answers, the first is the one of a success; the others are left out, since each refusal is a `Problem`. So are
// headers, which the client itself sends and reads.
import { readFileSync, writeFileSync } from "node:fs";
import { argv } from "node:process";
import openapiTS, { astToString } from "openapi-typescript";

const NEEDED = new Set(["components", "operations"]);
const HEAD = "// Made of the OpenAPI document by generate.mjs; what is written here by hand will be lost.\n\n";

const document = JSON.parse(readFileSync(argv[2], "utf8"));
const shared = document.components;
const known = (parameter) => shared.parameters[parameter.$ref?.split("/").pop()] ?? parameter;
for (const [path, methods] of Object.entries(document.paths)) {
  if (!path.startsWith("/api/")) delete document.paths[path];
  for (const operation of Object.values(methods)) {
    if (!operation.responses) continue;
    operation.parameters = operation.parameters?.filter((parameter) => known(parameter).in !== "header");
    const [[status, { content }]] = Object.entries(operation.responses);
    operation.responses = { [status]: { description: "", ...(content && { content }) } };
  }
}
document.components = {
  schemas: shared.schemas,
  parameters: Object.fromEntries(Object.entries(shared.parameters).filter(([, parameter]) => parameter.in !== "header")),
};
const types = await openapiTS(document, { defaultNonNullable: false, silent: true });
writeFileSync(argv[3], HEAD + astToString(types.filter((type) => NEEDED.has(type.name?.text))));
