/**
 * The tools by which a model has others work beside it (A1): `spawn_subagent`, `steer_subagent`, `list_subagents`. They are
 * offered where the conversation context says so. What a subagent finds does not come back as a result of these calls, but
 * through the session's mailbox, in a later turn (A2).
 */
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { sessionName } from "../../domain/session.ts";
import type { SubagentRef } from "../../domain/subagent.ts";
import type { ToolCallView } from "../../domain/tool.ts";
import type { Turn } from "../../domain/turn.ts";
import { describedTool } from "../../tools/described-tool.ts";
import { textArgument, toolParameters } from "../../tools/parameters.ts";
import { ToolFault } from "../../tools/tool-fault.ts";
import type { Tool, ToolResult } from "../../tools/tool.ts";
import { steer } from "../turn/live/control.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import { beginSubagent, continueSubagent, spawnerOf, type Spawner } from "./start-subagent.ts";

export function subagentTools(core: EngineCore): Tool[] {
  return [spawnTool(core), steerTool(core), listTool(core)];
}

const spawnParameters = toolParameters(() => ({
  instruction: textArgument("What it shall do, with all that it must know: it sees nothing of this conversation."),
  name: textArgument("Short name for people and lists; made from the instruction if absent.").optional(),
  context: textArgument("Id of another conversation context to work in; this one's if absent.").optional(),
  tools: textArgument(
    "Names of the tools that it may use, with commas between them; all that you have if absent.",
  ).optional(),
}));

function spawnTool(core: EngineCore): Tool {
  return describedTool({
    name: "spawn_subagent",
    about:
      "Begin a subagent, which works on its own beside this conversation, also after this turn. You get its id at once. " +
      "Its answer comes into the session's mailbox, and to you in a later turn: do not wait for it.",
    effect: "read",
    parameters: spawnParameters,
    view: async ({ instruction, name }) => viewOf(`Begin the subagent "${nameOf(name, instruction)}"`, instruction),
    run: ({ instruction, name, context, tools }, toolContext) =>
      withRefusals(async () => {
        const spawner = spawnerOf(core, toolContext);
        const wanted = {
          instruction,
          name: nameOf(name, instruction),
          conversationContextId: context,
          tools: tools === undefined ? null : toolNames(core, spawner, tools),
        };
        const { id, name: given } = await beginSubagent(core, spawner, wanted);
        return said(`The subagent ${id} ("${given}") has begun. Its answer will come into the mailbox.`);
      }),
  });
}

function nameOf(name: string | undefined, instruction: string): string {
  const line = sessionName(name ?? instruction);
  return line.slice(0, limits.subagentNameCharactersMax).toWellFormed();
}

function toolNames(core: EngineCore, { run }: Spawner, list: string): string[] {
  const names = [...new Set(list.split(/[\s,]+/).filter((name) => name !== ""))];
  const own = core.subagentTools.map(({ definition }) => definition.name);
  const known = [...run.accepted.serverTools.keys()].filter((name) => !own.includes(name));
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length === 0) return names;
  const others = known.join(", ") || "none";
  throw new ToolFault(`there is no tool ${unknown.join(", ")} that a subagent could use; there are: ${others}`);
}

const steerParameters = toolParameters(() => ({
  subagent_id: textArgument("Id of the subagent."),
  message: textArgument("What to tell it."),
}));

function steerTool(core: EngineCore): Tool {
  return describedTool({
    name: "steer_subagent",
    about:
      "Tell a subagent something. One that runs gets it at its next step. One that has ended goes on with it, knowing all " +
      "that it did before, and answers into the mailbox once more.",
    effect: "read",
    parameters: steerParameters,
    view: async ({ subagent_id: id, message }) => viewOf(`Tell the subagent ${id.slice(0, 36)}`, message),
    run: ({ subagent_id: id, message }, context) =>
      withRefusals(() => steerSubagent(core, spawnerOf(core, context), { id, message })),
  });
}

/** It may end, or be told to go on by somebody else, between the look and the word: then it is looked at again. */
async function steerSubagent(
  core: EngineCore,
  spawner: Spawner,
  { id, message }: { id: string; message: string },
): Promise<ToolResult> {
  for (let attempt = 1; ; attempt += 1) {
    const newest = await newestTurn(core, spawner, id);
    try {
      if (newest.status === "pending") {
        await steer(core, spawner.run.accepted.caller, { turnId: newest.id, text: message });
        return said("It runs, and gets the message at its next step.");
      }
      await continueSubagent(core, spawner, { newest, instruction: message });
      return said("It had ended, and goes on with the message now. Its answer will come into the mailbox.");
    } catch (error) {
      const isRace = error instanceof AptoveError && ["turn_not_running", "subagent_moved"].includes(error.code);
      if (!isRace || attempt >= limits.subagentSteerAttemptsMax) throw error;
    }
  }
}

async function newestTurn(core: EngineCore, { live }: Spawner, id: string): Promise<SubagentTurn> {
  const [newest] = await core.deps.records.subagents.listTurns(live.sessionId, { subagentId: id, limit: 1 });
  if (newest !== undefined && isSubagents(newest) && mayTell(live.subagent, newest.subagent)) return newest;
  throw new ToolFault(`there is no subagent "${id.slice(0, 64)}" that you began; list_subagents lists them`);
}

type SubagentTurn = Turn & { subagent: SubagentRef };

function isSubagents(turn: Turn): turn is SubagentTurn {
  return turn.subagent !== undefined;
}

/** The session's agent has a word with all of them, a subagent with those that it began. */
function mayTell(who: SubagentRef | null, subagent: SubagentRef): boolean {
  return who === null || subagent.owner === who.id;
}

function listTool(core: EngineCore): Tool {
  return describedTool({
    name: "list_subagents",
    about:
      "List the subagents of this session with their ids, and whether they run. Not for waiting: go on, or end your turn.",
    effect: "read",
    parameters: toolParameters(() => ({})),
    view: async () => viewOf("List subagents", ""),
    run: (_values, context) => withRefusals(async () => said(await subagentList(core, spawnerOf(core, context)))),
  });
}

async function subagentList(core: EngineCore, { live }: Spawner): Promise<string> {
  const { records } = core.deps;
  const limit = limits.subagentTurnsPerSessionMax;
  const turns = (await records.subagents.listTurns(live.sessionId, { limit })).filter(isSubagents);
  const waiting = await records.subagents.listMail(live.sessionId, { waiting: true, limit });
  const waits = new Set(waiting.map(({ turnId }) => turnId));
  const lines = new Map<string, string>();
  for (const turn of turns) {
    const { id, name } = turn.subagent;
    if (lines.has(id) || !mayTell(live.subagent, turn.subagent)) continue;
    const mail = waits.has(turn.id) ? "; its answer waits in the mailbox" : "";
    lines.set(id, `${id} "${name}": ${stateOf(turn)}${mail}`);
  }
  return [...lines.values()].join("\n") || "There are none.";
}

function stateOf(turn: Turn): string {
  if (turn.status === "pending") return "running";
  return turn.status === "failed" ? `failed (${turn.failures[0].code})` : "ended";
}

function said(output: string): ToolResult {
  return { output, isError: false };
}

function viewOf(title: string, detail: string): ToolCallView {
  const content: ToolCallView["content"] = detail === "" ? [] : [{ type: "text", text: detail }];
  return { title, kind: "other", locations: [], content, permission: null };
}

/** A refusal of the engine is a result that the model can act on; what is wrong with the stores is not. */
async function withRefusals(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AptoveError) || error.code.startsWith("storage_") || error.code === "internal") throw error;
    throw new ToolFault(`${error.code}: ${error.detail}`);
  }
}
