/** `POST /v1/chat/completions` (O1, O5). Unknown fields are ignored. What this server knows and does not have is refused by name. */
import * as z from "zod";
import { unsupported } from "../wire-error.ts";
import { parseWire } from "./parse.ts";
import { effortSchema, functionFields, toolChoiceSchema, verbositySchema, wireMetadata } from "./settings.ts";

const part = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("refusal"), refusal: z.string() }),
  z.object({ type: z.literal("image_url"), image_url: z.object({ url: z.string() }) }),
  z.object({
    type: z.literal("file"),
    file: z.object({ file_data: z.string().nullish(), filename: z.string().nullish(), file_id: z.string().nullish() }),
  }),
]);
const content = z.union([z.string(), z.array(part)]);
export type ChatContent = z.infer<typeof content>;
export type ChatPart = z.infer<typeof part>;

const call = z.object({
  id: z.string().min(1),
  type: z.literal("function"),
  function: z.object({ name: z.string().min(1), arguments: z.string() }),
});

const message = z.discriminatedUnion("role", [
  z.object({ role: z.literal("system"), content }),
  z.object({ role: z.literal("developer"), content }),
  z.object({ role: z.literal("user"), content }),
  z.object({
    role: z.literal("assistant"),
    content: content.nullish(),
    refusal: z.string().nullish(),
    tool_calls: z.array(call).nullish(),
  }),
  z.object({ role: z.literal("tool"), tool_call_id: z.string().min(1), content }),
]);
export type ChatMessage = z.infer<typeof message>;

const tool = z.object({ type: z.literal("function"), function: z.object(functionFields) });

const format = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text") }),
  z.object({ type: z.literal("json_object") }),
  z.object({
    type: z.literal("json_schema"),
    json_schema: z.object({
      name: z.string(),
      description: z.string().nullish(),
      schema: z.record(z.string(), z.unknown()).nullish(),
      strict: z.boolean().nullish(),
    }),
  }),
]);

const named = z.object({ type: z.literal("function"), function: z.object({ name: z.string() }) });
const allowed = z.object({
  type: z.literal("allowed_tools"),
  allowed_tools: z.object({ mode: z.enum(["auto", "required"]), tools: z.array(named) }),
});

const createSchema = z.object({
  model: z.string().nullish(),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  store: z.boolean().nullish(),
  metadata: wireMetadata.nullish(),
  tools: z.array(z.looseObject({ type: z.string() })).nullish(),
  tool_choice: z.union([z.enum(["none", "auto", "required"]), named, allowed]).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_logprobs: z.int().nullish(),
  presence_penalty: z.number().nullish(),
  frequency_penalty: z.number().nullish(),
  n: z.int().nullish(),
  logprobs: z.boolean().nullish(),
  reasoning_effort: effortSchema.nullish(),
  verbosity: verbositySchema.nullish(),
  response_format: format.nullish(),
  prompt_cache_key: z.string().max(64).nullish(),
  safety_identifier: z.string().nullish(),
  service_tier: z.string().nullish(),
  user: z.string().nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  logit_bias: z.record(z.string(), z.number()).nullish(),
  modalities: z.array(z.string()).nullish(),
  audio: z.unknown().optional(),
  web_search_options: z.unknown().optional(),
  functions: z.unknown().optional(),
  function_call: z.unknown().optional(),
});

type Created = z.infer<typeof createSchema>;
export type CreateChat = Omit<Created, "tools" | "tool_choice"> & {
  tools: z.infer<z.ZodObject<typeof functionFields>>[];
  tool_choice: z.infer<typeof toolChoiceSchema> | null;
};

/** The values that the model has if the client names none. Another one is refused: it would be lost in silence. */
const onlyValues = { presence_penalty: 0, frequency_penalty: 0, n: 1, logprobs: false, top_logprobs: 0 } as const;

/** What OpenAI has and this server does not. Each one would change the answer. */
const notHere = ["audio", "web_search_options", "functions", "function_call"] as const;

export function parseChat(value: unknown): CreateChat {
  const { tools, tool_choice: choice, ...asked } = parseWire(createSchema, value);
  for (const [name, only] of Object.entries(onlyValues)) {
    const given = asked[name as keyof typeof onlyValues] ?? only;
    if (given !== only) throw unsupported(name, `'${name}' can only be ${only} on this server.`);
  }
  const isAsked = (name: keyof typeof asked): boolean => asked[name] !== undefined && asked[name] !== null;
  const unknown = notHere.find(isAsked);
  if (unknown !== undefined) throw unsupported(unknown, `'${unknown}' is not supported by this server.`);
  if (Object.keys(asked.logit_bias ?? {}).length > 0) {
    throw unsupported("logit_bias", "'logit_bias' is not supported by this server.");
  }
  if (asked.modalities?.some((kind) => kind !== "text") === true) {
    throw unsupported("modalities", "This server answers with text only.");
  }
  return { ...asked, tools: (tools ?? []).map(functionOf), tool_choice: choiceOf(choice) };
}

function functionOf(given: { type: string }, index: number): CreateChat["tools"][number] {
  if (given.type === "function") return parseWire(tool, given, `tools[${index}]`).function;
  throw unsupported(`tools[${index}].type`, `Tools of the type '${given.type}' are not supported by this server.`);
}

/** Returns the choice in the form of responses. */
function choiceOf(choice: Created["tool_choice"]): CreateChat["tool_choice"] {
  if (choice === undefined || choice === null) return null;
  if (typeof choice === "string") return choice;
  if (choice.type === "function") return { type: "function", name: choice.function.name };
  const { mode, tools } = choice.allowed_tools;
  return {
    type: "allowed_tools",
    mode,
    tools: tools.map((each) => ({ type: "function", name: each.function.name })),
  };
}
