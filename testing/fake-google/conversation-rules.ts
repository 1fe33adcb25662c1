/** Rules for the order of contents, and for parts that must come back unchanged. */
import type { Content, FunctionCall, Part } from "@google/genai";
import { GoogleRefusal } from "./refusal.ts";
import { asksForSignatures, isSignatureOf } from "./signatures.ts";

/** Throws a GoogleRefusal for a conversation that Gemini does not accept. */
export function checkConversation(contents: readonly Content[], model: string): void {
  if (contents.length === 0) throw new GoogleRefusal("* GenerateContentRequest.contents: contents is not specified");
  let open: readonly FunctionCall[] = [];
  let last: string | undefined;
  for (const [index, { role, parts = [] }] of contents.entries()) {
    const at = `contents[${index}]`;
    if (role !== "user" && role !== "model") throw new GoogleRefusal("Please use a valid role: user, model.");
    if (role === last) {
      throw new GoogleRefusal("Please ensure that multiturn requests alternate between user and model.");
    }
    checkParts(parts, { role, at, model });
    if (role === "user") checkResponses(parts, open);
    open = parts.flatMap((part) => (part.functionCall === undefined ? [] : [part.functionCall]));
    if (open.length > 0 && last === undefined) {
      throw new GoogleRefusal(
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
      );
    }
    last = role;
  }
  if (last !== "user") throw new GoogleRefusal("Please ensure that multiturn requests end with a user role.");
  if (asksForSignatures(model)) checkSignatures(contents);
}

function checkParts(parts: readonly Part[], { role, at, model }: { role: string; at: string; model: string }): void {
  if (parts.length === 0)
    throw new GoogleRefusal(`* GenerateContentRequest.${at}.parts: contents.parts must not be empty.`);
  for (const [index, part] of parts.entries()) {
    const where = `${at}.parts[${index}]`;
    const { text, inlineData, thought, functionCall, functionResponse, thoughtSignature } = part;
    if ([text, inlineData, functionCall, functionResponse].filter((data) => data !== undefined).length !== 1) {
      throw new GoogleRefusal(
        `* GenerateContentRequest.${where}.data: required oneof field 'data' must have one initialized field`,
      );
    }
    if (text === "" && thoughtSignature === undefined) {
      throw new GoogleRefusal("Unable to submit request because it has an empty text parameter.");
    }
    if (functionResponse?.parts !== undefined && !asksForSignatures(model)) {
      throw new GoogleRefusal(`Multimodal function responses are not supported for ${model}.`);
    }
    const isModels = thought !== undefined || functionCall !== undefined || thoughtSignature !== undefined;
    if (role === "user" ? isModels : functionResponse !== undefined) {
      throw new GoogleRefusal(`The part at '${where}' is not supported for role: ${role}.`);
    }
    if (thoughtSignature !== undefined && !isSignatureOf(part, model)) {
      throw new GoogleRefusal("Corrupted thought signature.");
    }
  }
}

/** Checks that all calls of the previous content are answered, in their order and before other parts. */
function checkResponses(parts: readonly Part[], open: readonly FunctionCall[]): void {
  const responses = parts.flatMap((part) => (part.functionResponse === undefined ? [] : [part.functionResponse]));
  if (responses.length > 0 && open.length === 0) {
    throw new GoogleRefusal("Please ensure that function response turn comes immediately after a function call turn.");
  }
  if (responses.length !== open.length) {
    throw new GoogleRefusal(
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
    );
  }
  for (const [index, call] of open.entries()) {
    const response = responses[index];
    if (response?.name === call.name && response?.id === call.id && parts[index]?.functionResponse === response)
      continue;
    throw new GoogleRefusal(`The function response at ${index} does not belong to the call of \`${call.name ?? ""}\`.`);
  }
}

/** Checks that after the user's last text, the first call of each content is signed. */
function checkSignatures(contents: readonly Content[]): void {
  const begin = contents.findLastIndex(
    ({ role, parts = [] }) => role === "user" && parts.some((part) => part.text !== undefined),
  );
  for (const [index, { parts = [] }] of contents.entries()) {
    if (index < begin) continue;
    const first = parts.find((part) => part.functionCall !== undefined);
    if (first === undefined || first.thoughtSignature !== undefined) continue;
    throw new GoogleRefusal(
      `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Function call \`default_api:${first.functionCall?.name ?? ""}\` , position ${index + 1}.`,
    );
  }
}
