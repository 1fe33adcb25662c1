/**
 * Reads one page of S3's ListObjectsV2. A response that is cut off or malformed must never be taken for a shorter list,
 * because garbage collection and purges rely on it. So the form is checked from the first to the last tag.
 */

export interface ListPage {
  keys: string[];
  /** The token that requests the next page. Null on the last page. */
  next: string | null;
}

const whole = /^\s*(?:<\?xml[^<>]*\?>)?\s*<ListBucketResult(?:\s[^<>]*)?>(.*)<\/ListBucketResult>\s*$/s;
const content = /<Contents>(.*?)<\/Contents>/gs;

/** Returns the page, or null if the text is not a whole page. */
export function readListPage(xml: string): ListPage | null {
  const inner = whole.exec(xml)?.[1];
  // Such a response contains neither a declaration nor CDATA; either could hide tags.
  if (inner === undefined || inner.includes("<!")) return null;
  const objects = [...inner.matchAll(content)].map((found) => found[1] ?? "");
  const rest = inner.replace(content, "");
  const keys = objects.map((object) => onlyText(object, "Key"));
  const isTruncated = onlyText(rest, "IsTruncated");
  const next = onlyText(rest, "NextContinuationToken");
  if (rest.includes("Contents>") || keys.includes(null)) return null;
  if (isTruncated === "false") return { keys: keys as string[], next: null };
  return isTruncated === "true" && next !== null && next !== "" ? { keys: keys as string[], next } : null;
}

/** Returns the text of the only element of that name. Null if there is none, or more than one. */
function onlyText(xml: string, name: string): string | null {
  const found = [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "g"))];
  const text = found.length === 1 ? found[0]?.[1] : undefined;
  return text === undefined ? null : unescaped(text);
}

const named: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Returns the text with its entities replaced. Null if an entity is unknown. */
function unescaped(text: string): string | null {
  const [before = "", ...parts] = text.split("&");
  const characters = parts.map((part) => {
    const end = part.indexOf(";");
    const character = end === -1 ? undefined : characterOf(part.slice(0, end));
    return character === undefined ? null : character + part.slice(end + 1);
  });
  return characters.includes(null) ? null : before + characters.join("");
}

function characterOf(entity: string): string | undefined {
  const [, hex, decimal] = /^#(?:x([0-9a-f]{1,6})|(\d{1,7}))$/i.exec(entity) ?? [];
  if (hex === undefined && decimal === undefined) return named[entity];
  const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  return point <= 0x10ffff ? String.fromCodePoint(point) : undefined;
}
