/** Sessions about several repositories over HTTP (M7). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testDoor } from "../../../../testing/http-door.ts";
import type { ExecuteAnswer } from "../../../client/client.ts";
import { repositoriesOf, type RetrievedChunk, type Retriever } from "../../../retrieval/retriever.ts";

/** Finds one chunk in each repository. */
const retriever: Retriever = {
  search: async (query) =>
    repositoriesOf(query).map(({ repo }): RetrievedChunk => ({
      ...{ id: repo, repo, path: "main.ts", startLine: 1, endLine: 1, language: "typescript", symbol: null },
      ...{ text: `code of ${repo}`, hash: repo, commit: null, score: 1 },
    })),
  index: () => assert.fail("nothing is indexed here"),
  list: async () => [],
  close: async () => {},
};

const execute = "POST /api/ai/agent/execute";
const otherRepos = [{ repo: "web", workingCopy: "/srv/web" }];

test("[M7] [H1] a request names the repositories of a new session: its sources name both, and the session has them", async (t) => {
  const { call, refused } = await testDoor(t, { retrievers: new Map([["local", retriever]]) });
  const answered = await call(execute, { json: { instruction: "one", repo: "api", otherRepos } });
  const { sources, sessionId } = (await answered.json()) as ExecuteAnswer;
  assert.deepEqual(
    sources.map(({ path }) => path),
    ["api:main.ts", "web:main.ts"],
  );
  const session = (await (await call(`GET /api/sessions/${sessionId}`)).json()) as Record<string, unknown>;
  assert.deepEqual([session["repo"], session["otherRepos"]], ["api", ["web"]]);
  const plain = await call(`${execute}?repo=api&otherRepos=web&otherRepos=lib`, {
    body: "two",
    headers: { "content-type": "text/plain" },
  });
  assert.equal(((await plain.json()) as ExecuteAnswer).sources.length, 3);
  const made = await call("POST /api/sessions", { json: { repo: "api", otherRepos: ["web"] } });
  assert.deepEqual(((await made.json()) as Record<string, unknown>)["otherRepos"], ["web"]);
  for (const wrong of [[{ repo: "api" }], [{ repo: "" }], ["web"], [{ name: "web" }]]) {
    await refused("request_invalid", execute, { json: { instruction: "x", repo: "api", otherRepos: wrong } });
  }
  await refused("request_invalid", execute, { json: { instruction: "x", sessionId, otherRepos: [{ repo: "lib" }] } });
  await refused("request_invalid", "POST /api/sessions", { json: { otherRepos: ["web"] } });
});

test("[M7] [H4] only the people who run the server name a folder of it, for any of the repositories", async (t) => {
  const opened: string[] = [];
  const { call, person } = await testDoor(t, {
    retrievers: new Map([["local", retriever]]),
    workingCopy: (folder) => {
      opened.push(folder);
      return null;
    },
  });
  const json = { instruction: "one", repo: "api", workingCopy: "/srv/api", otherRepos };
  await call(execute, { json, as: await person("member") });
  assert.deepEqual(opened, []);
  await call(execute, { json });
  assert.deepEqual(new Set(opened), new Set(["/srv/api", "/srv/web"]));
});
