/** A chat in a real terminal: tmux stands for one, where it is installed. */
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { watch } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { temporaryFolder } from "../../../../testing/temporary-folder.ts";

const run = promisify(execFile);
const main = resolve(import.meta.dirname, "../../../main.ts");

function missing(): string | false {
  try {
    execFileSync("tmux", ["-V"]);
    return false;
  } catch {
    return "tmux is not installed";
  }
}

interface RealTerminal {
  folder: string;
  keys(...keys: string[]): Promise<void>;
  /** What is on the screen, once it matches. */
  shows(pattern: RegExp): Promise<string>;
}

/** Starts a shell in a terminal. Its screen is read again whenever output was written. */
async function realTerminal(t: TestContext): Promise<RealTerminal> {
  let tmux: ((...args: string[]) => Promise<string>) | null = null;
  // Registered before the folder is: what still runs in it ends before it is taken away.
  t.after(() => tmux?.("kill-server"));
  const folder = await temporaryFolder(t);
  const server = ["-S", join(folder, "tmux"), "-f", "/dev/null"];
  const command = async (...args: string[]): Promise<string> => (await run("tmux", [...server, ...args])).stdout;
  const written = join(folder, "written");
  await writeFile(written, "");
  await command("new-session", "-d", "-x", "60", "-y", "24", "env PS1='$ ' sh");
  tmux = command;
  await command("pipe-pane", `cat >> ${written}`);
  const watcher = watch(written);
  t.after(() => watcher.close());
  return {
    folder,
    keys: async (...keys) => void (await command("send-keys", ...keys)),
    shows: async (pattern) => {
      for (;;) {
        const more = once(watcher, "change");
        const screen = await command("capture-pane", "-p");
        if (pattern.test(screen)) return screen;
        await more;
      }
    },
  };
}

const options = { skip: missing(), timeout: 60_000 };

test("[L2] a chat in a real terminal: the prompt, a formatted answer, and leaving", options, async (t) => {
  const { folder, keys, shows } = await realTerminal(t);
  const copy = join(folder, "copy");
  await mkdir(copy);
  await writeFile(join(copy, "greet.ts"), "export const greet = (name: string) => `hello ${name}`;\n");
  const start = `cd ${copy}; clear; env -u OPENAI_API_KEY -u ANTHROPIC_API_KEY -u GOOGLE_API_KEY -u GEMINI_API_KEY APTOVE_DATA_DIR=${folder}/data`;
  await writeFile(join(folder, "start"), `${start} ${process.execPath} ${main} chat; echo EXIT $?\n`);
  await keys("-l", `. ${folder}/start`);
  await keys("Enter");
  await shows(/^›$/m);
  await keys("-l", "how is a user greeted?");
  await shows(/^› how is a user greeted\?$/m);
  await keys("Enter");
  const answered = await shows(/offline-1 · [\d,]+ tokens/);
  assert.match(answered, /built-in offline model/);
  assert.equal(answered.match(/^› how is a user greeted\?$/gm)?.length, 1);
  await keys("C-d");
  const left = await shows(/^EXIT 0$/m);
  assert.doesNotMatch(left, /tokens|working/);
});
