/** An editor's session about several repositories (M7): the additional directories of `session/new`. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test, type TestContext } from "node:test";
import { acpTest, type AcpTest, type AcpTestOptions } from "../../../testing/acp/acp-test.ts";
import { requestErrorOf } from "../../../testing/acp/request-error.ts";
import { sampleRepository, type SampleRepository } from "../../retrieval/sample-repository.ts";
import { surroundingsOf } from "../../working-copy/surroundings.ts";

interface World extends AcpTest {
  api: SampleRepository;
  web: SampleRepository;
}

async function world(t: TestContext, options: AcpTestOptions = {}): Promise<World> {
  const overrides = { provider: "scripted", conversation_contexts: { default: { retrieval: "required" } } };
  const made = await acpTest(t, { ...options, aptove: { overrides } });
  const owner = await made.aptove.engine.keys.owner();
  const repositories: SampleRepository[] = [];
  for (const name of ["api", "web"]) {
    const repository = sampleRepository({
      "src/invoices.ts": `/** The invoices of customers in ${name}. */\nexport const ${name} = 1;\n`,
      "AGENTS.md": `Be brief in ${name}.\n`,
    });
    t.after(() => repository.remove());
    repository.git("remote", "add", "origin", `https://example.org/team/${name}.git`);
    repository.commit();
    await made.aptove.engine.indexes.index(owner, { root: repository.root, repo: `example.org/team/${name}` });
    repositories.push(repository);
  }
  const [api, web] = repositories;
  assert.ok(api !== undefined && web !== undefined);
  return { ...made, api, web };
}

const names = ["example.org/team/api", "example.org/team/web"];

test("[M7] [P4] additional directories in other repositories make a session about all of them: sources, rules, mentions and tools", async (t) => {
  const { connect, aptove, provider, api, web } = await world(t, {
    script: (_call, n) =>
      n === 1 ? [{ calls: "write", with: { path: "example.org/team/web:src/new.ts", content: "new\n" } }] : "ok",
  });
  const connection = await connect({ ports: { surroundingsOf } });
  const { sessionId } = await connection.begin({ cwd: api.root, additionalDirectories: [web.root] });
  const uri = pathToFileURL(join(web.root, "src/invoices.ts")).href;
  await connection.prompt(sessionId, [
    { type: "text", text: "which invoices of customers are there?" },
    { type: "resource_link", uri, name: "invoices.ts" },
  ]);
  const owner = await aptove.engine.keys.owner();
  const session = await aptove.engine.sessions.get(owner, sessionId);
  assert.deepEqual([session.repo, session.otherRepos], [names[0], [names[1]]]);
  const { turn } = await aptove.engine.turns.read(owner, session.headTurnId ?? "");
  const paths = turn.manifest.chunks.map(({ path }) => path);
  assert.ok(paths.includes("example.org/team/api:src/invoices.ts"), paths.join());
  assert.deepEqual(
    turn.manifest.activeFiles.map(({ path }) => path),
    ["example.org/team/web:src/invoices.ts"],
  );
  assert.deepEqual(
    turn.manifest.rules?.files.map(({ path }) => path),
    ["example.org/team/web:AGENTS.md", "example.org/team/api:AGENTS.md"],
  );
  assert.match(provider.exchanges[0]?.call.prompt ?? "", /about 2 repositories/);
  assert.equal(readFileSync(join(web.root, "src/new.ts"), "utf8"), "new\n");
});

test("[M7] a session about several repositories is loaded with one of its folders, and not with another repository", async (t) => {
  const { connect, aptove, api, web } = await world(t);
  const connection = await connect({ ports: { surroundingsOf } });
  const { sessionId } = await connection.begin({ cwd: api.root, additionalDirectories: [web.root] });
  await connection.prompt(sessionId, "which invoices of customers are there?");
  await connection.agent.request("session/load", { sessionId, cwd: web.root, mcpServers: [] });
  await connection.prompt(sessionId, "and which of them are in web?");
  const owner = await aptove.engine.keys.owner();
  const head = (await aptove.engine.sessions.get(owner, sessionId)).headTurnId ?? "";
  const { turn } = await aptove.engine.turns.read(owner, head);
  assert.deepEqual([turn.status, turn.warnings.map(({ code }) => code)], ["completed", []]);
  const known = turn.manifest.chunks.filter(({ notSentBecause }) => notSentBecause === "already_sent");
  assert.ok(
    known.some(({ path }) => path === `${names[1]}:src/invoices.ts`),
    "the paths are those of the first turn",
  );
  const other = sampleRepository({ "a.ts": "1;\n" });
  t.after(() => other.remove());
  writeFileSync(join(other.root, "b.ts"), "2;\n");
  const { message } = await requestErrorOf(
    connection.agent.request("session/load", { sessionId, cwd: other.root, mcpServers: [] }),
  );
  assert.match(message, /the session is about example\.org\/team\/api, example\.org\/team\/web/);
});

test("[M7] additional directories of the same repository, or of none, leave a session about one", async (t) => {
  const { connect, aptove, api, project } = await world(t);
  const connection = await connect();
  const { sessionId } = await connection.begin({
    cwd: api.root,
    additionalDirectories: [join(api.root, "src"), project],
  });
  const session = await aptove.engine.sessions.get(await aptove.engine.keys.owner(), sessionId);
  assert.deepEqual([session.repo, session.otherRepos], [names[0], []]);
});
