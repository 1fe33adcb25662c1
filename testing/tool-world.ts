/** The agent's own tools in a folder of one test: calls like the engine's, with the views that people would see. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import type { ToolCallView } from "../src/domain/tool.ts";
import { commandTool, type CommandToolOptions } from "../src/tools/command/command-tool.ts";
import { fileTools, type FileToolsOptions } from "../src/tools/files/file-tools.ts";
import type { Tool, ToolContext, ToolResult } from "../src/tools/tool.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export interface ToolWorld {
  /** The absolute path, with links resolved. It is the only folder of the session, unless the options name others. */
  folder: string;
  tools: Tool[];
  /** Calls a tool and returns the whole result. */
  call(name: string, args: Record<string, unknown>, context?: Partial<ToolContext>): Promise<ToolResult>;
  /** The output of a call that must go well. */
  output(name: string, args: Record<string, unknown>): Promise<string>;
  /** The output of a call that must fail. */
  fault(name: string, args: Record<string, unknown>): Promise<string>;
  view(name: string, args: Record<string, unknown>): Promise<ToolCallView>;
  put(path: string, content: string | Uint8Array): Promise<void>;
  get(path: string): Promise<string>;
  git(...args: string[]): void;
}

type ToolWorldOptions = Partial<FileToolsOptions> & Partial<CommandToolOptions>;

export async function toolWorld(context: TestContext, options: ToolWorldOptions = {}): Promise<ToolWorld> {
  const folder = await temporaryFolder(context);
  const all = { folders: [folder], ...options };
  const tools = [...fileTools(all), commandTool(all)];
  const tool = (name: string): Tool => {
    const found = tools.find(({ definition }) => definition.name === name);
    assert.ok(found, `there is no tool ${name}`);
    return found;
  };
  const call: ToolWorld["call"] = (name, args, own) => tool(name).run(args, { ...plainContext(), ...own });
  return {
    folder,
    tools,
    call,
    output: async (name, args) => {
      const { output, isError } = await call(name, args);
      assert.equal(isError, false, output);
      return output;
    },
    fault: async (name, args) => {
      const { output, isError } = await call(name, args);
      assert.equal(isError, true, output);
      return output;
    },
    view: async (name, args) => {
      const view = await tool(name).view?.(args);
      assert.ok(view);
      return view;
    },
    put: async (path, content) => {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content);
    },
    get: (path) => readFile(join(folder, path), "utf8"),
    git: (...args) => {
      const who = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
      execFileSync("git", [...who, ...args], { cwd: folder, stdio: "ignore" });
    },
  };
}

function plainContext(): ToolContext {
  return {
    sessionId: "session",
    turnId: "turn",
    callId: "call",
    signal: new AbortController().signal,
    showOutput: () => undefined,
    readOutput: () => Promise.resolve(null),
  };
}
