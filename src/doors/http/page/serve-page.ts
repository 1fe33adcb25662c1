/**
 * The page at `/` and below (U1). It needs no key and shows nothing of the server: everything behind it is asked for with the API. The
 * code of an address is behind `#`, so the browser does not send it.
 */
import { AptoveError } from "../../../domain/errors.ts";
import { inEncoding, type PageFile, type PageFiles } from "./page-files.ts";

/**
 * Nothing from another host, no inline script or style, no frame, no form that leaves the page, and no text that becomes HTML or
 * script: with `trusted-types 'none'` the browser refuses it, whatever the page's code does.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const documentHeaders = {
  // The document names the files of its version, so it is asked for each time.
  "cache-control": "no-cache",
  "content-security-policy": policy,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
};

const words = [
  "This is an aptove server. It keeps sessions with language models.",
  "In a browser: open this address. In a terminal: aptove chat, or aptove ask.",
  "In an editor: start aptove acp as the agent.",
  "For programs: the HTTP interface is described at /openapi.json. Each request needs an API key.",
];

export function wantsHtml({ headers }: Request): boolean {
  return headers.get("accept")?.includes("text/html") === true;
}

/** Answers with the document if the client asks for HTML, else with a few words. */
export function pageDocument(files: PageFiles | null, request: Request, status = 200): Response {
  const isAsked = wantsHtml(request);
  if (!isAsked || files === null) {
    const missing = files === null && isAsked ? ["The page of this server was not built: npm run build."] : [];
    const text = ["aptove", "", ...words, ...missing, ""].join("\n");
    return new Response(text, { headers: { ...documentHeaders, "content-type": "text/plain; charset=utf-8" } });
  }
  const encoded = inEncoding(files.document, { accepted: request.headers.get("accept-encoding"), status });
  return withHeaders(encoded, documentHeaders);
}

/** Answers with a file that never changes under its name. Throws `not_found`. */
export function pageAsset(files: PageFiles | null, name: string, { headers }: Request): Response {
  const file: PageFile | undefined = files?.assets.get(name);
  if (file === undefined) throw new AptoveError("not_found", `the page has no file ${JSON.stringify(name)}`);
  return withHeaders(inEncoding(file, { accepted: headers.get("accept-encoding") }), {
    "cache-control": "public, max-age=31536000, immutable",
    "cross-origin-resource-policy": "same-origin",
  });
}

function withHeaders(response: Response, headers: Record<string, string>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}
