/** The address of a place in a bucket, as people write it: `s3://bucket` or `s3://bucket/some/prefix`. */
import { AptoveError } from "./errors.ts";

export interface S3Url {
  bucket: string;
  /** Before every key: empty, or ending with `/`. */
  prefix: string;
}

const bucketPattern = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const prefixPattern = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*$/;

/** Throws `config_invalid`, naming `blobs.url`. What may be a secret is not repeated. */
export function readS3Url(url: string): S3Url {
  const [, bucket, path = ""] = /^s3:\/\/([^/?#@:]+)\/?([^?#]*)$/.exec(url) ?? [];
  if (bucket === undefined) throw new AptoveError("config_invalid", "blobs.url must be s3://<bucket>/<prefix>");
  if (!bucketPattern.test(bucket)) {
    const form = "3 to 63 small letters, digits, dots and hyphens, with a letter or digit at both ends";
    throw new AptoveError(
      "config_invalid",
      `the bucket ${JSON.stringify(bucket)} in blobs.url is no name of one: ${form}`,
    );
  }
  const prefix = path === "" || path.endsWith("/") ? path : `${path}/`;
  if (prefix.length <= 200 && prefixPattern.test(prefix)) return { bucket, prefix };
  const form = "names of letters, digits and ._- with / between them, 200 in all";
  throw new AptoveError("config_invalid", `the prefix in blobs.url may have ${form}`);
}
