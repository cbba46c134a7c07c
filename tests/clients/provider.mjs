// The certified provider `oidc-provider`, for the service and a program that calls its API. Prints its issuer, and takes commands, each a line.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";

const [service] = process.argv.slice(2);
async function newKey(kid) {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  return { ...await exportJWK(privateKey), kid, use: "sig", alg: "RS256" };
}

let handle;
const server = createServer((request, response) => handle(request, response));
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const issuer = `http://127.0.0.1:${server.address().port}`;

async function start(kid) {
  handle = new Provider(issuer, {
    clients: [{
      client_id: "gate",
      client_secret: "a s:cret+%",
      redirect_uris: [`${service}/console/login/with/team/back`],
      backchannel_logout_uri: `${service}/console/login/with/team/backchannel`,
      backchannel_logout_session_required: true,
    }, {
      client_id: "reports",
      token_endpoint_auth_method: "none",
      redirect_uris: [`${service}/reports`],
    }],
    jwks: { keys: [await newKey(kid)] },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    features: {
      devInteractions: { enabled: true },
      backchannelLogout: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => ({
          audience: resource, scope: "read:profile write:articles", accessTokenFormat: "jwt", accessTokenTTL: 300,
        }),
      },
    },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: true, name: `Name of ${id}` }),
    }),
    // The default one refuses addresses of this machine.
    fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined }),
  }).callback();
}

await start("one");
console.log(issuer);
for await (const line of createInterface({ input: process.stdin })) {
  await start(line); // with another key of that name
  console.log("done");
}
