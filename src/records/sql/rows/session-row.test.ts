/** Rows of sessions, orgs and users that an earlier version stored. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { orgOf, sessionOf, userOf } from "../../suite/samples.ts";
import { orgToRow, rowToOrg, rowToUser, userToRow } from "../people.ts";
import { rowToSession, sessionToRow } from "./session-row.ts";

test("[S2] what was stored with an empty name is read with its id as the name", () => {
  const [session, org, user] = [sessionOf(), orgOf(), userOf()];
  for (const name of ["", " "]) {
    assert.deepEqual(rowToSession(sessionToRow({ ...session, name })), { ...session, name: session.id });
    assert.deepEqual(rowToOrg(orgToRow({ ...org, name })), { ...org, name: org.id });
    assert.deepEqual(rowToUser(userToRow({ ...user, name })), { ...user, name: user.id });
  }
});
