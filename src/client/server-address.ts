/**
 * The address of the server that a client calls, and the key for it. Wrong ones are refused at once, and not after the retries of the first
 * request.
 */
import { AptoveApiError } from "./api-error.ts";

/** Returns the address without slashes at its end. In a browser it may be relative to the page. Throws an error that states the fix. */
export function serverAddress(url: unknown): string {
  if (typeof url !== "string") throw wrongAddress("`url` is not a string");
  const shown = JSON.stringify(url);
  const page = (globalThis as { location?: { href: string } }).location?.href;
  const base = url.replace(/\/+$/, "");
  const parsed = parsedUrl(`${base}/`, page);
  if (parsed === null || !/^https?:[^?#]+$/.test(parsed.href)) throw wrongAddress(`${shown} is no address of a server`);
  // A request refuses such an address, and an error would quote the password.
  if (parsed.username !== "" || parsed.password !== "") {
    throw wrongAddress("the address has a user name or a password; leave them out, and give the key as `key`");
  }
  return base;
}

/**
 * Returns the key without white space around it, which a file or a variable may add, and undefined for an empty one. Throws an error without
 * the key for what cannot be sent in a header.
 */
export function serverKey(key: unknown): string | undefined {
  const text = String(key ?? "").trim();
  if (!/^[!-~]*$/.test(text)) throw new AptoveApiError("request_invalid", "`key` is not the secret of an API key");
  return text === "" ? undefined : text;
}

/** Returns null for what is no address. Node 20 has no `URL.parse`. */
function parsedUrl(url: string, page: string | undefined): URL | null {
  try {
    return new URL(url, page);
  } catch {
    // The caller says what is wrong.
    return null;
  }
}

function wrongAddress(why: string): AptoveApiError {
  const fix = 'an address begins with http:// or https:// and has no ? or #, for example "http://127.0.0.1:4870"';
  return new AptoveApiError("request_invalid", `${why}; ${fix}`);
}
