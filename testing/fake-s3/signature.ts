/** Checks version 4 of Amazon's signatures like a server: by the published algorithm, not with the code of a client. */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

export interface SignatureKeys {
  accessKeyId: string;
  secretAccessKey: string;
  region: string;
}

const form =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;
const skewMsMax = 15 * 60_000;

export interface SignedRequest {
  request: IncomingMessage;
  body: Buffer;
  /** The time of the server's clock. */
  now: number;
}

/** Returns the code of S3's error, or null if the request is signed correctly. */
export function signatureFault({ request, body, now }: SignedRequest, keys: SignatureKeys): string | null {
  const { headers, method = "", url = "" } = request;
  const found = form.exec(headers.authorization ?? "");
  if (found === null) return "AccessDenied";
  const [, keyId = "", day = "", region = "", signed = "", signature = ""] = found;
  if (keyId !== keys.accessKeyId) return "InvalidAccessKeyId";
  if (region !== keys.region) return "AuthorizationHeaderMalformed";
  const date = String(headers["x-amz-date"]);
  const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  if (!date.startsWith(day) || Number.isNaN(at)) return "AccessDenied";
  if (Math.abs(at - now) > skewMsMax) return "RequestTimeTooSkewed";
  const names = signed.split(";");
  const unsigned = Object.keys(headers).filter((name) => name.startsWith("x-amz-") && !names.includes(name));
  // S3 requires these. A header that is not signed may have been changed on the way.
  if (unsigned.length > 0 || !names.includes("host") || names.join() !== names.toSorted().join()) return "AccessDenied";
  if (headers["x-amz-content-sha256"] !== sha256(body)) return "XAmzContentSHA256Mismatch";
  const [path = "", query = ""] = url.split("?");
  const canonical = [
    method,
    path.split("/").map(encoded).join("/"),
    [...new URLSearchParams(query)]
      .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
      .toSorted()
      .join("&"),
    ...names.map((name) => `${name}:${String(headers[name]).trim().replace(/\s+/g, " ")}`),
    "",
    signed,
    headers["x-amz-content-sha256"],
  ].join("\n");
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", date, scope, sha256(canonical)].join("\n");
  const key = [day, region, "s3", "aws4_request"].reduce<Buffer>(hmac, Buffer.from(`AWS4${keys.secretAccessKey}`));
  return timingSafeEqual(hmac(key, toSign), Buffer.from(signature, "hex")) ? null : "SignatureDoesNotMatch";
}

function encoded(part: string): string {
  const escaped = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(decodeURIComponent(part)).replace(/[!'()*]/g, escaped);
}

function sha256(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

function hmac(key: Buffer, content: string): Buffer {
  return createHmac("sha256", key).update(content).digest();
}
