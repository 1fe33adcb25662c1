/** Keys in `config.toml`: one line among those of the person (W7, B6). */
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { openDataFolder, type DataFolder } from "./data-folder.ts";
import { forgetKeys, storeKey } from "./stored-keys.ts";

async function folderWith(t: TestContext, text: string | null): Promise<DataFolder> {
  const folder = openDataFolder(await temporaryFolder(t));
  if (text !== null) writeFileSync(folder.config, text, { mode: 0o644 });
  return folder;
}

const read = ({ config }: DataFolder): string => readFileSync(config, "utf8");

test("[W7] [B6] a stored key is one line of a file with mode 0600, and all other lines stay", async (t) => {
  const mine = `# mine\nprovider = "anthropic"\n\n[ providers.anthropic ] # here\nmodel = "m" # why\n\n[serve]\nport = 1\n`;
  const folder = await folderWith(t, mine);
  storeKey(folder, "anthropic", "sk-one");
  assert.equal(read(folder), mine.replace("# here\n", '# here\napi_key = "sk-one"\n'));
  assert.equal(statSync(folder.config).mode & 0o777, 0o600);
  storeKey(folder, "anthropic", 'sk-"two\\');
  storeKey(folder, "openai", "sk-three");
  assert.match(read(folder), /here\napi_key = "sk-\\"two\\\\"\nmodel = "m"/);
  assert.ok(read(folder).endsWith('port = 1\n\n[providers.openai]\napi_key = "sk-three"\n'));
  assert.deepEqual(forgetKeys(folder, "google"), []);
  assert.deepEqual(forgetKeys(folder), ["openai", "anthropic"]);
  assert.equal(read(folder), `${mine}\n[providers.openai]\n`);
});

test("[W7] a key is stored where there is no file, and for a compatible server", async (t) => {
  const folder = await folderWith(t, null);
  assert.deepEqual(forgetKeys(folder), []);
  storeKey(folder, "google", "g");
  storeKey(folder, "ollama", "o");
  assert.equal(read(folder), '[providers.google]\napi_key = "g"\n\n[providers.compatible.ollama]\napi_key = "o"\n');
  assert.deepEqual(forgetKeys(folder, "ollama"), ["ollama"]);
});

test("[W7] a file in a form that cannot be changed line by line is refused and stays", async (t) => {
  for (const text of ['providers = { openai = { model = "m" } }\n', 'a = """\n[providers.openai]\n"""\n']) {
    const folder = await folderWith(t, text);
    assert.throws(() => storeKey(folder, "openai", "k"), { message: /change providers.openai.api_key there yourself/ });
    assert.equal(read(folder), text);
  }
});
