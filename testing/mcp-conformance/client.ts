/**
 * The client that the conformance runner of MCP drives: it has the tools of one server like any session, and
 * uses them as the scenario requires. The address of the server is the last argument, the scenario's name and facts are in
 * the environment.
 */
import { openMcpTools } from "../../src/tools/mcp/open-mcp-tools.ts";
import type { Tool } from "../../src/tools/tool.ts";

const url = process.argv.at(-1) ?? "";
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const { toolCalls = [] } = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as {
  toolCalls?: { name: string; arguments: Record<string, unknown> }[];
};

const mcp = openMcpTools({
  servers: [{ type: "http", name: "server", url, headers: {} }],
  logFolder: null,
  env: process.env,
  version: "0.0.0",
  // A person who submits every form unchanged.
  answerForm: async () => ({ action: "accept", content: {} }),
});

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function call(tool: Tool, args: Record<string, unknown>): Promise<void> {
  const result = await tool.run(args, {
    sessionId: "session",
    turnId: "turn",
    callId: "call",
    signal: AbortSignal.timeout(30_000),
    showOutput: (text) => void process.stderr.write(text),
    readOutput: async () => null,
  });
  say(`${tool.definition.name}: ${result.isError ? "error: " : ""}${result.output}`);
}

const tools = await mcp.tools();
say(`${scenario}: ${tools.map(({ definition }) => definition.name).join(", ")}`);
for (const warning of mcp.warnings()) say(warning);
const wanted =
  toolCalls.length > 0
    ? toolCalls.map(({ name, arguments: args }) => ({
        tool: tools.find((tool) => tool.definition.name === `server__${name}`),
        args,
      }))
    : tools.map((tool) => ({ tool, args: argumentsFor(tool) }));
for (const { tool, args } of wanted) if (tool !== undefined) await call(tool, args);
await mcp.close();
process.exit(mcp.warnings().length > 0 && tools.length === 0 ? 1 : 0);

/** The arguments for the scenarios' tools: two numbers, the schema of another tool, or some text. */
function argumentsFor({ definition }: Tool): Record<string, unknown> {
  const sample: Record<string, unknown> = { a: 5, b: 3, schema: tools[0]?.definition.parameters };
  const properties = Object.keys(definition.parameters["properties"] ?? {});
  return Object.fromEntries(properties.map((name) => [name, sample[name] ?? "text"]));
}
