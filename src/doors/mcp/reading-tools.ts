/** The tools that read sessions and change nothing. */
import type { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import type { AptoveClient, WireSession, WireTurnDiff } from "../../client/client.ts";
import { idSchema } from "../../protocol/values.ts";
import { conversationPage, turnsText } from "./conversation-text.ts";
import { answered, answerCharactersMax, toolAnswer, shortened } from "./tool-answer.ts";
import { toolArguments } from "./tool-arguments.ts";

const pageMax = 50;
const annotations = { readOnlyHint: true, openWorldHint: false };
const sessionId = idSchema.describe("The id of a session.");
const turnId = idSchema.describe("The id of a turn.");

export function addReadingTools(server: McpServer, client: AptoveClient): void {
  server.registerTool(
    "search_sessions",
    {
      title: "Search sessions",
      description: "Finds sessions whose name, labels, instructions or answers contain all of the words.",
      inputSchema: toolArguments({ words: z.string().min(1), limit: z.int().min(1).max(pageMax).default(10) }),
      annotations,
    },
    ({ words, limit }) =>
      toolAnswer(async () => {
        const hits = await client.search(words, { limit });
        const lines = hits.map(({ session, matches }) =>
          [line(session), ...matches.map(({ turnId: id, excerpt }) => `  ${id ?? "name"}: ${excerpt}`)].join("\n"),
        );
        const found = hits.map(({ session: { id, name }, matches }) => ({ sessionId: id, name, matches }));
        return answered(lines.join("\n") || `No session contains all of: ${words}`, { hits: found });
      }),
  );
  server.registerTool(
    "list_sessions",
    {
      title: "List sessions",
      description: "Lists sessions, the last active one first.",
      inputSchema: toolArguments({
        limit: z.int().min(1).max(pageMax).default(20),
        cursor: z.string().optional().describe("The `nextCursor` of the page before."),
        repo: z.string().optional().describe("Only sessions about this repository, for example github.com/owner/name."),
      }),
      annotations,
    },
    ({ limit, cursor, repo }) =>
      toolAnswer(async () => {
        const options = { limit, ...(cursor !== undefined && { cursor }), ...(repo !== undefined && { repo }) };
        const { sessions, nextCursor } = await client.sessions.list(options);
        const facts = sessions.map(({ id, name, headTurnId, turnCount }) => ({ id, name, headTurnId, turnCount }));
        const more = nextCursor === null ? [] : [`More: list_sessions with cursor: ${nextCursor}`];
        const text = [...sessions.map(line), ...more].join("\n") || "There is no session.";
        return answered(text, { sessions: facts, nextCursor });
      }),
  );
  server.registerTool(
    "read_session",
    {
      title: "Read a session",
      description: "Returns turns of a session as Markdown, the newest page by default. Long texts are cut.",
      inputSchema: toolArguments({
        sessionId,
        limit: z.int().min(1).max(pageMax).default(10).describe("The number of turns."),
        before: z.int().min(1).optional().describe("Only turns with a smaller number."),
      }),
      annotations,
    },
    ({ sessionId: id, ...page }) =>
      toolAnswer(async () => {
        const { text, nextBefore } = await conversationPage(client, id, page);
        return answered(text, { nextBefore });
      }),
  );
  addTurnTools(server, client);
}

function addTurnTools(server: McpServer, client: AptoveClient): void {
  server.registerTool(
    "read_turn",
    {
      title: "Read a turn",
      description: "Returns one turn: its instruction, its whole answer, and what the model was given.",
      inputSchema: toolArguments({
        turnId,
        from: z.int().min(0).default(0).describe("The first character of the answer, for one that was cut."),
      }),
      annotations,
    },
    ({ turnId: id, from }) => toolAnswer(async () => answered(await turnText(client, id, from))),
  );
  server.registerTool(
    "diff_turns",
    {
      title: "Compare two turns",
      description: "Says what the models of two turns were given differently, and shows both answers.",
      inputSchema: toolArguments({ turnId, otherTurnId: turnId }),
      annotations,
    },
    ({ turnId: a, otherTurnId: b }) => toolAnswer(async () => answered(diffText(await client.turns.diff(a, b)))),
  );
}

function line({ id, name, turnCount, activeAt, repo }: WireSession): string {
  return `${id}  ${name}  (${turnsText(turnCount)}, ${activeAt}${repo === null ? "" : `, ${repo}`})`;
}

async function turnText(client: AptoveClient, id: string, from: number): Promise<string> {
  const [turn, instruction, answer] = await Promise.all([
    client.turns.get(id),
    client.turns.instruction(id),
    client.turns.answer(id),
  ]);
  const { manifest, sessionId: session, sequence, status, model, createdAt, failures } = turn;
  const chunks = manifest.chunks.map(({ path, startLine, endLine }) => `${path}:${startLine}-${endLine}`);
  const half = answerCharactersMax / 2;
  return [
    `# Turn ${sequence} of session ${session}`,
    `${status}, ${model}, ${createdAt}; history of ${turnsText(manifest.historyTurns)}`,
    ...failures.slice(0, 1).map(({ code, message }) => `Failed: ${code}: ${message}`),
    ...(chunks.length === 0 ? [] : [`Code that was given: ${chunks.join(", ")}`]),
    `## Instruction\n\n${shortened(instruction, half / 2)}`,
    `## Answer${from > 0 ? ` from character ${from}` : ""}\n\n${shortened(answer.text.slice(from), half)}`,
  ].join("\n\n");
}

function diffText({ a, b, same, chunks, files, history }: WireTurnDiff): string {
  const differs = Object.entries(same).flatMap(([name, isSame]) => (isSame ? [] : [name]));
  const side = ({ turnId: id, model, instruction, answer }: WireTurnDiff["a"]): string =>
    `## ${id} (${model})\n\n**Instruction:** ${shortened(instruction, 6_000)}\n\n**Answer:** ${shortened(answer, 20_000)}`;
  return [
    differs.length === 0 ? "Prompt, tools, model and settings are the same." : `Different: ${differs.join(", ")}.`,
    `The histories share ${turnsText(history.commonTurns)}; ${history.onlyA.length} and ${history.onlyB.length} are of one only.`,
    ...chunks.map(({ path, startLine, endLine, change }) => `Chunk ${path}:${startLine}-${endLine}: ${change}`),
    ...files.map(({ path, hashA, hashB }) => `File ${path}: ${hashA ?? "absent"} and ${hashB ?? "absent"}`),
    side(a),
    side(b),
  ].join("\n\n");
}
