/**
 * The client that the conformance runner of MCP drives: it has the tools of one server as any session has them, and
 * does with them what the scenario asks for. The address of the server comes last, the scenario's name and facts in
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
  // A person who takes every form as it is.
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

/** What the tools of the scenarios take: two numbers, the schema that another tool has, or some text. */
function argumentsFor({ definition }: Tool): Record<string, unknown> {
  const sample: Record<string, unknown> = { a: 5, b: 3, schema: tools[0]?.definition.parameters };
  const properties = Object.keys(definition.parameters["properties"] ?? {});
  return Object.fromEntries(properties.map((name) => [name, sample[name] ?? "text"]));
}
