/** The names that people give (S2, H4): one line, and never blank, whatever gets the name. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testEngine } from "../../../testing/engine.ts";

const blank = { name: "AptoveError", code: "request_invalid", message: /the name is blank/ };

test("[S2] [H4] a blank name is refused for everything that has a name, and nothing is made", async (t) => {
  const { engine, start } = await testEngine(t);
  const caller = await engine.keys.owner();
  const { id } = await engine.sessions.create(caller, { name: "kept" });
  const user = await engine.people.addUser(caller, { name: "Kim" });
  // A refused name does not use up the code.
  const { code: pairingCode } = await engine.devices.pair(caller);
  const { code } = await engine.keys.browsers.code(caller);
  const naming: Record<string, (name: string) => Promise<unknown>> = {
    "a new session": (name) => engine.sessions.create(caller, { name }),
    "a session": (name) => engine.sessions.update(caller, id, { name }),
    "the session of a turn": (name) => start("hello", { session: { name } }),
    "a new org": (name) => engine.operator.createOrg(name),
    "an org": (name) => engine.people.renameOrg(caller, caller.orgId, name),
    "a new user": (name) => engine.people.addUser(caller, { name }),
    "a user": (name) => engine.people.changeUser(caller, user.id, { name }),
    "a key": (name) => engine.keys.create(caller, { name }),
    "a device": (name) => engine.devices.claim({ code: pairingCode, name }),
    "a browser": (name) => engine.keys.browsers.signIn({ code }, name),
  };
  for (const [what, give] of Object.entries(naming)) {
    for (const name of ["", " \t", "\n\u2028"]) await assert.rejects(give(name), blank, what);
    await give("A\nname");
  }
  assert.equal((await engine.sessions.get(caller, id)).name, "A name");
  assert.equal((await engine.people.org(caller)).name, "A name");
  assert.equal((await engine.people.user(caller, user.id)).name, "A name");
  assert.equal((await engine.people.users(caller)).users.filter(({ name }) => name === "A name").length, 2);
});
