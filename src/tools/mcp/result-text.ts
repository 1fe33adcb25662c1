/**
 * Turns the result of a server's tool into text for a model, and into images for people (P5). Pure. For the model, content
 * that is not text is named, with its size.
 */
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { limits } from "../../domain/limits.ts";
import type { ToolContent } from "../../domain/tool.ts";
import { leftOutField } from "./known-parts.ts";

/** Returns the parts with an empty line between them. Structured content is used only if there is no text, because the text repeats it. */
export function resultText({ content, structuredContent }: CallToolResult): string {
  const parts = content.map(partText);
  if (structuredContent !== undefined && !content.some(isText)) {
    parts.push(JSON.stringify(structuredContent, null, 2));
  }
  return bounded(parts.filter((part) => part !== "").join("\n\n"));
}

/** Returns the images that editors can show, as many as fit. */
export function resultImages({ content }: CallToolResult): ToolContent[] {
  let room = imageCharactersMax;
  return content.flatMap((part): ToolContent[] => {
    if (part.type !== "image" || !shownImages.has(part.mimeType) || part.data.length > room) return [];
    room -= part.data.length;
    return [{ type: "image", mimeType: part.mimeType, data: part.data }];
  });
}

/** The most base64 characters of the images in one result: they are stored with the turn, beside its output. */
export const imageCharactersMax = limits.toolOutputBytesMax / 5;
const shownImages = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

function isText(part: ContentBlock): boolean {
  return part.type === "text" && part._meta?.[leftOutField] !== true;
}

function partText(part: ContentBlock): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "image":
    case "audio":
      return `[${part.type}, ${sizeText(part.data)} ${kindOf(part.mimeType)}]`;
    case "resource_link": {
      const about = part.description === undefined ? "" : `: ${part.description}`;
      return `[resource ${part.name}, ${part.uri}${about}]`;
    }
    case "resource": {
      const { resource } = part;
      if ("text" in resource) return `[resource ${resource.uri}]\n${resource.text}`;
      return `[resource ${resource.uri}, ${sizeText(resource.blob)} ${kindOf(resource.mimeType ?? "bytes")}]`;
    }
  }
}

/** Returns the size of decoded base64 data, such as `12 KB`. */
function sizeText(base64: string): string {
  const bytes = Buffer.byteLength(base64, "base64");
  if (bytes < 1_024) return `${bytes} B`;
  return bytes < 1_048_576 ? `${Math.round(bytes / 1_024)} KB` : `${(bytes / 1_048_576).toFixed(1)} MB`;
}

/** Returns the subtype of a media type: `png` for `image/png`. */
function kindOf(mimeType: string): string {
  return mimeType.slice(mimeType.lastIndexOf("/") + 1).slice(0, 40);
}

function bounded(text: string): string {
  const bytesMax = limits.toolOutputBytesMax;
  if (Buffer.byteLength(text) <= bytesMax) return text;
  const note = `\n[… the rest is left out: a result may have ${bytesMax} bytes …]`;
  const kept = Buffer.from(text).subarray(0, bytesMax - Buffer.byteLength(note) - 3);
  // A character that was cut becomes one replacement character of three bytes.
  return `${kept.toString("utf8")}${note}`;
}
