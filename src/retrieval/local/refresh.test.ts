import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { lexicalEmbedder } from "../lexical-embedding.ts";
import { sampleRepository } from "../sample-repository.ts";
import { beginRun, openIndexFile } from "./index-file.ts";
import { openLocalRetriever } from "./local-retriever.ts";

async function world(t: TestContext) {
  const folder = join(await temporaryFolder(t), "index");
  const repository = sampleRepository({ "a.ts": "export function greet() {}\n" });
  repository.commit();
  const retriever = await openLocalRetriever({ folder, embedder: lexicalEmbedder() });
  t.after(async () => {
    await retriever.close();
    repository.remove();
  });
  const copy = { root: repository.root, orgId: "org", repo: "sample" };
  const find = async (text: string): Promise<string[]> =>
    (await retriever.search({ text, orgId: "org", repo: "sample", candidates: 8 })).map(({ path }) => path);
  return { folder, repository, retriever, copy, find, refresh: async () => await retriever.refresh?.(copy) };
}

test("[Q2] a local index follows its working copy, and none is made that was not there", async (t) => {
  const { repository, retriever, copy, find, refresh } = await world(t);
  assert.equal(await refresh(), "missing");
  assert.deepEqual(await retriever.list("org"), []);
  await retriever.index(copy);
  repository.write({ "b.ts": "export function farewell() {}\n", "a.ts": null });
  repository.commit();
  assert.deepEqual(await Promise.all([refresh(), refresh()]), ["current", "current"]);
  assert.deepEqual([await find("farewell"), await find("greet")], [["b.ts"], []]);
  const [info] = await retriever.list("org");
  assert.equal(info?.commit, repository.git("rev-parse", "HEAD").trim());
});

test("[Q2] while another run writes the index, questions use the former one and do not wait", async (t) => {
  const { folder, repository, retriever, copy, find, refresh } = await world(t);
  await retriever.index(copy);
  repository.write({ "b.ts": "export function farewell() {}\n" });
  const other = openIndexFile(folder);
  t.after(() => other.close());
  await beginRun(other, AbortSignal.timeout(5_000));
  assert.equal(await refresh(), "busy");
  assert.deepEqual([await find("greet"), await find("farewell")], [["a.ts"], []]);
  other.exec("ROLLBACK");
  assert.equal(await refresh(), "current");
  assert.deepEqual(await find("farewell"), ["b.ts"]);
});
