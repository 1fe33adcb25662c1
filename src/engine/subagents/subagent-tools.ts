/**
 * The tools with which a model starts and steers subagents (A1): `spawn_subagent`, `steer_subagent`, `list_subagents`.
 * They are offered if the conversation context allows it. The answer of a subagent is not a result of these calls. It
 * arrives in a later turn, through the session's mailbox (A2).
 */
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { sessionName } from "../../domain/session.ts";
import { isStoreFault } from "../../domain/storage-fault.ts";
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
  instruction: textArgument("The task, with everything that the subagent must know. It cannot see this conversation."),
  name: textArgument("A short name for people and lists. Default: made from the instruction.").optional(),
  context: textArgument(
    "The id of another conversation context. Default: the context of this conversation.",
  ).optional(),
  tools: textArgument(
    "The names of the tools that it may use, separated by commas. Default: all of your tools.",
  ).optional(),
}));

function spawnTool(core: EngineCore): Tool {
  return describedTool({
    name: "spawn_subagent",
    about:
      "Start a subagent, which works independently of this conversation, also after this turn. You receive its id at once. " +
      "Its answer goes to the session's mailbox, and you receive it in a later turn. Do not wait for it.",
    effect: "read",
    parameters: spawnParameters,
    view: async ({ instruction, name }) =>
      viewOf(`Start the subagent "${sessionName(name ?? instruction)}"`, instruction),
    run: ({ instruction, name, context, tools }, toolContext) =>
      withRefusals(async () => {
        const spawner = spawnerOf(core, toolContext);
        const wanted = {
          instruction,
          name: sessionName(name ?? instruction),
          conversationContextId: context,
          tools: tools === undefined ? null : toolNames(core, spawner, tools),
        };
        const { id, name: given } = await beginSubagent(core, spawner, wanted);
        return textResult(`The subagent ${id} ("${given}") has started. Its answer will arrive in the mailbox.`);
      }),
  });
}

function toolNames(core: EngineCore, { run }: Spawner, list: string): string[] {
  const names = [...new Set(list.split(/[\s,]+/).filter((name) => name !== ""))];
  const own = core.subagentTools.map(({ definition }) => definition.name);
  const known = [...run.accepted.serverTools.keys()].filter((name) => !own.includes(name));
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length === 0) return names;
  const others = known.join(", ") || "none";
  throw new ToolFault(`there is no tool ${unknown.join(", ")} that a subagent can use; the tools are: ${others}`);
}

const steerParameters = toolParameters(() => ({
  subagent_id: textArgument("The id of the subagent."),
  message: textArgument("The message for the subagent."),
}));

function steerTool(core: EngineCore): Tool {
  return describedTool({
    name: "steer_subagent",
    about:
      "Send a message to a subagent. A running subagent receives it at its next step. A subagent that has ended continues " +
      "with it, knows everything that it did before, and sends another answer to the mailbox.",
    effect: "read",
    parameters: steerParameters,
    view: async ({ subagent_id: id, message }) => viewOf(`Message the subagent ${id.slice(0, 36)}`, message),
    run: ({ subagent_id: id, message }, context) =>
      withRefusals(() => steerSubagent(core, spawnerOf(core, context), { id, message })),
  });
}

/**
 * Sends a message to a subagent, or continues it. If the subagent ends or is continued between the check and the
 * message, this checks again.
 */
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
        return textResult("The subagent is running and will receive the message at its next step.");
      }
      await continueSubagent(core, spawner, { newest, instruction: message });
      return textResult(
        "The subagent had ended and now continues with the message. Its answer will arrive in the mailbox.",
      );
    } catch (error) {
      const isRace = error instanceof AptoveError && ["turn_not_running", "subagent_moved"].includes(error.code);
      if (!isRace || attempt >= limits.subagentSteerAttemptsMax) throw error;
    }
  }
}

async function newestTurn(core: EngineCore, { live }: Spawner, id: string): Promise<SubagentTurn> {
  const [newest] = await core.deps.records.subagents.listTurns(live.sessionId, { subagentId: id, limit: 1 });
  if (newest !== undefined && isSubagents(newest) && mayMessage(live.subagent, newest.subagent)) return newest;
  throw new ToolFault(`there is no subagent "${id.slice(0, 64)}" that you started; list_subagents lists them`);
}

type SubagentTurn = Turn & { subagent: SubagentRef };

function isSubagents(turn: Turn): turn is SubagentTurn {
  return turn.subagent !== undefined;
}

/**
 * Returns true if `who` may send messages to the subagent. The session's agent may message all of them, a subagent
 * those that it started.
 */
function mayMessage(who: SubagentRef | null, subagent: SubagentRef): boolean {
  return who === null || subagent.owner === who.id;
}

function listTool(core: EngineCore): Tool {
  return describedTool({
    name: "list_subagents",
    about:
      "List the subagents of this session with their ids and states. Do not use it to wait: continue, or end your turn.",
    effect: "read",
    parameters: toolParameters(() => ({})),
    view: async () => viewOf("List subagents", ""),
    run: (_values, context) => withRefusals(async () => textResult(await subagentList(core, spawnerOf(core, context)))),
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
    if (lines.has(id) || !mayMessage(live.subagent, turn.subagent)) continue;
    const mail = waits.has(turn.id) ? "; its answer waits in the mailbox" : "";
    lines.set(id, `${id} "${name}": ${stateOf(turn)}${mail}`);
  }
  return [...lines.values()].join("\n") || "There are no subagents.";
}

function stateOf(turn: Turn): string {
  if (turn.status === "pending") return "running";
  return turn.status === "failed" ? `failed (${turn.failures[0].code})` : "ended";
}

function textResult(output: string): ToolResult {
  return { output, isError: false };
}

function viewOf(title: string, detail: string): ToolCallView {
  const content: ToolCallView["content"] = detail === "" ? [] : [{ type: "text", text: detail }];
  return { title, kind: "other", locations: [], content, permission: null };
}

/** A refusal of the engine becomes a result that the model can act on. A fault of a store does not. */
async function withRefusals(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AptoveError) || isStoreFault(error.code) || error.code === "internal") throw error;
    throw new ToolFault(`${error.code}: ${error.detail}`);
  }
}
