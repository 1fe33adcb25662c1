/**
 * The parts of an exact request or response, so that a person can read a body of megabytes: its fields, the items of its lists, and what is
 * new since the request before. Pure.
 */
export interface BodyPart {
  /** The name of a field, or of an item of a list: `messages 3`. */
  name: string;
  /** The beginning of its text, on one line. */
  brief: string;
  /** The length of its JSON, in characters. */
  characters: number;
  /** Null: there is nothing to compare it with. */
  isNew: boolean | null;
  /** The JSON for a person. It is made only when the part is opened. */
  text(): string;
}

const briefCharactersMax = 120;

/** `before`: the request before this one. Null: there is none, or it cannot be read. Returns null if the text is no JSON object. */
export function partsOfRequest(text: string, before: string | null): BodyPart[] | null {
  const body = objectOf(text);
  if (body === null) return null;
  const earlier = before === null ? null : objectOf(before);
  return Object.entries(body).flatMap(([key, value]) => {
    const was = earlier === null ? null : earlier[key];
    if (!Array.isArray(value)) return [partOf(key, value, was === null ? null : marked(was) !== marked(value))];
    const known = was === null ? null : countsOf(Array.isArray(was) ? was : []);
    return value.map((item: unknown, at) =>
      partOf(`${key} ${at + 1}`, item, known === null ? null : !taken(known, item)),
    );
  });
}

/** The events of a streamed response: a row for each run of events of the same type. Returns null if the text is no event stream. */
export function partsOfStream(text: string): BodyPart[] | null {
  const events = [...text.matchAll(/^data: ?(.*)$/gm)].map(([, data = ""]) => data);
  if (events.length === 0) return null;
  const runs: { type: string; data: string[] }[] = [];
  for (const data of events) {
    const type = typeOf(data);
    const last = runs.at(-1);
    if (last?.type === type) last.data.push(data);
    else runs.push({ type, data: [data] });
  }
  return runs.map(({ type, data }) => ({
    name: data.length === 1 ? type : `${type} × ${data.length}`,
    brief: (data[0] ?? "").slice(0, briefCharactersMax),
    characters: data.reduce((sum, { length }) => sum + length, 0),
    isNew: null,
    text: () => data.map(prettyJson).join("\n"),
  }));
}

function typeOf(data: string): string {
  const event = objectOf(data);
  const named = event?.["type"] ?? event?.["object"];
  return typeof named === "string" ? named : "data";
}

function partOf(name: string, value: unknown, isNew: boolean | null): BodyPart {
  const json = JSON.stringify(value);
  return {
    name,
    brief: briefOf(value, json),
    characters: json.length,
    isNew,
    text: () => JSON.stringify(value, null, 2),
  };
}

/** The words by which a person recognises a message or a tool: its role or name, and the beginning of its text. */
function briefOf(value: unknown, json: string): string {
  const { role, type, name, function: inner } = isObject(value) ? value : {};
  const named = [role, role === undefined ? type : undefined, name ?? (isObject(inner) ? inner["name"] : undefined)];
  const head = named.filter((one) => typeof one === "string").join(" ");
  const content = isObject(value)
    ? firstText(value["content"] ?? value["parts"] ?? value["text"] ?? value["output"])
    : "";
  const words = content === "" && head !== "" ? "" : content || json;
  return [head, words.slice(0, briefCharactersMax).replaceAll(/\s+/g, " ")].filter((one) => one !== "").join(": ");
}

function firstText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  for (const part of content) if (isObject(part) && typeof part["text"] === "string") return part["text"];
  return "";
}

/** A provider's marks for its cache move from message to message. They are no part of what the model reads. */
function marked(value: unknown): string | undefined {
  return JSON.stringify(value, (key, one: unknown) => (key === "cache_control" ? undefined : one));
}

function countsOf(items: readonly unknown[]): Map<string | undefined, number> {
  const counts = new Map<string | undefined, number>();
  for (const item of items) counts.set(marked(item), (counts.get(marked(item)) ?? 0) + 1);
  return counts;
}

/** Takes one such item out of the counts. Returns whether there was one. */
function taken(counts: Map<string | undefined, number>, item: unknown): boolean {
  const key = marked(item);
  const left = counts.get(key) ?? 0;
  counts.set(key, left - 1);
  return left > 0;
}

function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
