/** `POST /v1/responses` (O1). Unknown fields are ignored. What this server knows and does not have is refused by name. */
import * as z from "zod";
import { reasoningSummaries } from "../../../domain/context.ts";
import { badParameter, unsupported } from "../wire-error.ts";
import { inputSchema } from "./input-items.ts";
import { parseWire } from "./parse.ts";
import {
  effortSchema,
  functionFields,
  wireMetadata,
  textFormat,
  toolChoiceSchema,
  verbositySchema,
} from "./settings.ts";

const functionTool = z.object({ type: z.literal("function"), ...functionFields });
export type WireFunctionTool = z.infer<typeof functionTool>;

/** What a client may want to have in the output. Without the tool that makes it, there is nothing to include. */
const includes = [
  "code_interpreter_call.outputs",
  "computer_call_output.output.image_url",
  "file_search_call.results",
  "message.input_image.image_url",
  "message.output_text.logprobs",
  "reasoning.encrypted_content",
  "web_search_call.action.sources",
  "web_search_call.results",
] as const;

const createSchema = z.object({
  model: z.string().nullish(),
  input: inputSchema.nullish(),
  instructions: z.string().nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.union([z.string(), z.object({ id: z.string() })]).nullish(),
  stream: z.boolean().nullish(),
  store: z.boolean().nullish(),
  background: z.boolean().nullish(),
  metadata: wireMetadata.nullish(),
  tools: z.array(z.looseObject({ type: z.string() })).nullish(),
  tool_choice: toolChoiceSchema.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_tool_calls: z.int().min(1).nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  reasoning: z.object({ effort: effortSchema.nullish(), summary: z.enum(reasoningSummaries).nullish() }).nullish(),
  text: z.object({ format: textFormat.nullish(), verbosity: verbositySchema.nullish() }).nullish(),
  truncation: z.enum(["auto", "disabled"]).nullish(),
  include: z.array(z.enum(includes)).nullish(),
  context_management: z.array(z.looseObject({ type: z.string() })).nullish(),
  prompt: z.unknown().optional(),
  prompt_cache_key: z.string().max(64).nullish(),
  safety_identifier: z.string().max(512).nullish(),
  service_tier: z.string().nullish(),
  user: z.string().nullish(),
});

export type CreateResponse = Omit<z.infer<typeof createSchema>, "tools" | "prompt"> & { tools: WireFunctionTool[] };

/** The sampling values that the model has if the client names none. Another one is refused: it would be lost in silence. */
const onlyValues = { presence_penalty: 0, frequency_penalty: 0, top_logprobs: 0 } as const;

/** Returns the request. Throws `request_invalid` with the parameter. */
export function parseCreate(value: unknown): CreateResponse {
  const { tools, prompt, ...asked } = parseWire(createSchema, value);
  if (prompt !== undefined && prompt !== null) throw unsupported("prompt", "Prompt templates are not supported.");
  for (const [name, only] of Object.entries(onlyValues)) {
    const given = asked[name as keyof typeof onlyValues];
    if (given !== undefined && given !== null && given !== only) {
      throw unsupported(name, `'${name}' can only be ${only} on this server.`);
    }
  }
  if (asked.include?.includes("message.output_text.logprobs") === true) {
    throw unsupported("include", "Log probabilities are not supported by this server.");
  }
  const other = asked.context_management?.findIndex(({ type }) => type !== "compaction") ?? -1;
  if (other !== -1) {
    const param = `context_management[${other}].type`;
    throw badParameter(param, `Invalid value for '${param}'. Supported values are: 'compaction'.`);
  }
  return { ...asked, tools: parseTools(tools ?? []) };
}

function parseTools(tools: readonly { type: string }[]): WireFunctionTool[] {
  return tools.map((tool, index) => {
    if (tool.type === "function") return parseWire(functionTool, tool, `tools[${index}]`);
    throw unsupported(
      `tools[${index}].type`,
      `Tools of the type '${tool.type}' are not supported by this server. Supported values are: 'function'.`,
    );
  });
}
