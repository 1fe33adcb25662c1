/** What a store must do to find sessions that no list shows, and to attach them again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../domain/ids.ts";
import { ada, noon, sampleOrgId, readSession, startSession, type OpenRecordsForTest } from "./samples.ts";

/** The parts that these tests need. */
type Parts = "attachments" | "sessions";

export function attachmentTests(open: OpenRecordsForTest<Parts>): void {
  test("[S7] every session of every owner is found page by page, deleted ones too", async (context) => {
    const { store } = await open(context);
    const owners = [{}, { userId: newId() }, { orgId: newId() }, { deletedAt: noon }];
    const sessions = [];
    for (const more of owners) sessions.push(await startSession(store, more));
    const expected = sessions.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    assert.deepEqual(await store.attachments.list({ limit: 10 }), expected);
    const first = await store.attachments.list({ limit: 3 });
    const rest = await store.attachments.list({ after: first.at(-1)?.id ?? "", limit: 3 });
    assert.deepEqual([...first, ...rest], expected);
  });

  test("[S7] an attached session is in the lists of its new owner and repository, and its other fields are unchanged", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store, { orgId: newId(), userId: newId(), workspaceId: newId(), repo: "old" });
    const attachment = { orgId: sampleOrgId, userId: ada, workspaceId: null, repo: "team/shop" };
    const attached = await store.attachments.attach(session.id, attachment, noon + 9);
    assert.deepEqual(attached, { ...session, ...attachment, updatedAt: noon + 9 });
    assert.deepEqual(await readSession(store, session.id), attached);
    const { sessions } = await store.sessions.list({ orgId: sampleOrgId, userId: ada, repo: "team/shop", limit: 10 });
    assert.deepEqual(sessions, [attached]);
    assert.equal(await store.attachments.attach(newId(), attachment, noon), null);
  });
}
