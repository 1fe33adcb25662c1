/**
 * What `streamGenerateContent` accepts. The fields are those of Google's own types: tsc fails here when a type gains
 * or loses one.
 */
import { mediaTaken } from "../../src/domain/models.ts";
import { mediaFault } from "../media-rules.ts";
import type {
  Blob,
  Content,
  FunctionCall,
  FunctionCallingConfig,
  FunctionDeclaration,
  FunctionResponse,
  FunctionResponsePart,
  GenerationConfig,
  Part,
  ThinkingConfig,
} from "@google/genai";
import { decimal, flag, integer, listOf, object, oneOf, record, text } from "../fake-openai/check.ts";
import { anything, type Check } from "../fake-server/check.ts";
import { Refusal } from "../fake-openai/refusal.ts";
import { checkConversation } from "./conversation-rules.ts";
import { GoogleRefusal } from "./refusal.ts";
import { asksForSignatures } from "./signatures.ts";

export interface GenerateBody {
  contents: Content[];
  systemInstruction?: Content;
  generationConfig?: GenerationConfig;
  tools?: { functionDeclarations: FunctionDeclaration[] }[];
  toolConfig?: { functionCallingConfig?: FunctionCallingConfig };
  safetySettings?: unknown;
  cachedContent?: string;
}

const functionCall = object<FunctionCall>(
  { id: text, name: text, args: record, partialArgs: anything, willContinue: flag },
  ["name"],
);

const inlineForm = object<Blob>({ data: text, displayName: text, mimeType: text }, ["data", "mimeType"]);
const inlineOf =
  (taken: readonly string[]): Check =>
  (value, at) => {
    inlineForm(value, at);
    const { mimeType, data } = value as Blob;
    const wrong = mediaFault(mimeType, data, taken);
    if (wrong !== null) throw new Refusal(`${at}: ${wrong}`, { param: at });
  };
const inlineData = inlineOf(mediaTaken("google", ""));

const responsePart = object<FunctionResponsePart>(
  {
    inlineData: inlineOf(["image/png", "image/jpeg", "image/webp", "application/pdf"]),
    fileData: anything,
    mediaProcessing: anything,
  },
  ["inlineData"],
);
const functionResponse = object<FunctionResponse>(
  { id: text, name: text, response: record, parts: listOf(responsePart), scheduling: text, willContinue: flag },
  ["name", "response"],
);

const part = object<Part>(
  {
    text,
    thought: flag,
    thoughtSignature: text,
    functionCall,
    functionResponse,
    audioTranscription: anything,
    codeExecutionResult: anything,
    executableCode: anything,
    fileData: anything,
    inlineData,
    mediaProcessing: anything,
    mediaResolution: anything,
    partMetadata: record,
    speechMetadata: anything,
    toolCall: anything,
    toolResponse: anything,
    videoMetadata: anything,
  },
  [],
);

const content = object<Content>({ role: text, parts: listOf(part) }, ["parts"]);

const thinkingConfig = object<ThinkingConfig>(
  {
    includeThoughts: flag,
    thinkingBudget: integer({ min: -1 }),
    thinkingLevel: oneOf("MINIMAL", "LOW", "MEDIUM", "HIGH"),
  },
  [],
);

const generationConfig = object<GenerationConfig>(
  {
    temperature: decimal({ min: 0, max: 2 }),
    topP: decimal({ min: 0, max: 1 }),
    topK: integer({ min: 1 }),
    maxOutputTokens: integer({ min: 1 }),
    candidateCount: integer({ min: 1 }),
    stopSequences: listOf(text),
    seed: integer({ min: 0 }),
    thinkingConfig,
    audioTimestamp: anything,
    audioTranscriptionConfig: anything,
    enableAffectiveDialog: flag,
    enableEnhancedCivicAnswers: flag,
    frequencyPenalty: decimal({ min: -2, max: 2 }),
    logprobs: anything,
    mediaResolution: text,
    modelSelectionConfig: anything,
    presencePenalty: decimal({ min: -2, max: 2 }),
    responseFormat: anything,
    responseJsonSchema: anything,
    responseLogprobs: flag,
    responseMimeType: text,
    responseModalities: anything,
    responseSchema: anything,
    routingConfig: anything,
    speechConfig: anything,
    translationConfig: anything,
  },
  [],
);

const functionName: Check = (value, at) => {
  text(value, at);
  if (/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(value as string)) return;
  throw new GoogleRefusal(
    `Invalid function name at '${at}'. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.`,
  );
};

const functionDeclaration = object<FunctionDeclaration>(
  {
    name: functionName,
    description: text,
    parameters: anything,
    parametersJsonSchema: record,
    response: anything,
    responseJsonSchema: anything,
    behavior: text,
  },
  ["name"],
);

const functionCallingConfig = object<FunctionCallingConfig>(
  {
    mode: oneOf("AUTO", "ANY", "NONE", "VALIDATED"),
    allowedFunctionNames: listOf(text),
    streamFunctionCallArguments: flag,
  },
  [],
);

const generateBody = object<GenerateBody>(
  {
    contents: listOf(content),
    systemInstruction: content,
    generationConfig,
    tools: listOf(object({ functionDeclarations: listOf(functionDeclaration) }, [])),
    toolConfig: object({ functionCallingConfig }, []),
    safetySettings: anything,
    cachedContent: text,
  },
  ["contents"],
);

/** Throws a GoogleRefusal unless the real endpoint accepts the body for this model. */
export function checkGenerateBody(value: unknown, model: string): asserts value is GenerateBody {
  try {
    generateBody(value, "");
  } catch (error) {
    throw error instanceof Refusal ? inGooglesWords(error) : error;
  }
  const body = value as GenerateBody;
  checkThinking(body.generationConfig?.thinkingConfig, model);
  checkTools(body);
  checkConversation(body.contents, model);
}

function inGooglesWords({ message, param, code }: Refusal): GoogleRefusal {
  const path = param ?? "";
  const name = path.slice(path.lastIndexOf(".") + 1);
  const place = path.includes(".") ? ` at '${path.slice(0, path.lastIndexOf("."))}'` : "";
  if (code === "unknown_parameter") {
    return new GoogleRefusal(`Invalid JSON payload received. Unknown name "${name}"${place}: Cannot find field.`);
  }
  if (code === "missing_required_parameter") {
    return new GoogleRefusal(`* GenerateContentRequest.${path}: ${name} is not specified`);
  }
  return new GoogleRefusal(`Invalid value at '${path}', ${message}`);
}

function checkThinking(config: ThinkingConfig | undefined, model: string): void {
  if (config === undefined) return;
  const { thinkingBudget, thinkingLevel } = config;
  if (thinkingBudget !== undefined && thinkingLevel !== undefined) {
    throw new GoogleRefusal("You can only set one of thinking budget and thinking level.");
  }
  const isLater = asksForSignatures(model);
  if (thinkingLevel !== undefined && !isLater)
    throw new GoogleRefusal("Thinking level is not supported for this model.");
  if (String(thinkingLevel) === "MINIMAL" && model.includes("pro")) {
    throw new GoogleRefusal("Thinking level MINIMAL is not supported for this model.");
  }
}

function checkTools({ tools = [], toolConfig }: GenerateBody): void {
  const declared = new Set(tools.flatMap((tool) => tool.functionDeclarations).map(({ name }) => name));
  const config = toolConfig?.functionCallingConfig;
  if (config === undefined) return;
  const mode = String(config.mode ?? "AUTO");
  const allowed = config.allowedFunctionNames ?? [];
  if (allowed.length > 0 && mode !== "ANY" && mode !== "VALIDATED") {
    throw new GoogleRefusal(
      "allowed_function_names should only be set when the function calling mode is ANY or VALIDATED.",
    );
  }
  if (declared.size === 0) throw new GoogleRefusal("Function calling config is set without function_declarations.");
  for (const name of allowed) {
    if (!declared.has(name)) throw new GoogleRefusal(`allowed_function_names: \`${name}\` is not a declared function.`);
  }
}
