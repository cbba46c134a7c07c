// Asks node-casbin what JSON on standard input holds, and prints its answers as JSON.
//
// In:  [{model, policy, functions, requests: [{values: [sub, act, obj, env], scopes, answers}, …]}, …]
// Out: [[true, false, …], …], one list for each policy; a request that node-casbin fails on is answered with its message
//
// `functions` is the text of the Casbin editor's pane, and evaluated as the editor does. A missing value is an absent
// key. The clock of the functions shows r.env.now of each request. `answers` is what the functions answer that ask what the request does not hold: {shared: {"[]": true}}, by what
// follows the first three arguments.
'use strict';

const { newEnforcer, newModelFromString, EnforceContext, StringAdapter } = require(process.argv[2]);

async function answers({ model, policy, functions, requests }) {
  const enforcer = await newEnforcer(newModelFromString(model), new StringAdapter(policy));
  const config = (0, eval)(functions);
  const known = config.functions;
  let told = {};
  for (const [name, answer] of Object.entries(known)) {
    const asked = (...given) => (name in told ? told[name][JSON.stringify(given.slice(3))] : answer(...given));
    await enforcer.addFunction(name, asked);
  }
  const found = [];
  for (const { values, scopes, answers: given } of requests) {
    told = given;
    config.clock.now = () => values[3].now;
    try {
      found.push(await enforcer.enforce(...values) && await covered(enforcer, scopes, values[1]));
    } catch (error) {
      found.push(error.message);
    }
  }
  return found;
}

async function covered(enforcer, scopes, act) {
  if (scopes === null) return true;
  const context = new EnforceContext('r2', 'p2', 'e2', 'm2');
  for (const scope of scopes) {
    if (await enforcer.enforce(context, scope, act)) return true;
  }
  return false;
}

async function main() {
  let text = '';
  for await (const chunk of process.stdin) text += chunk;
  const found = [];
  for (const asked of JSON.parse(text)) found.push(await answers(asked));
  process.stdout.write(JSON.stringify(found));
}

main();
