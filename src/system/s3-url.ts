/** The address of a place in a bucket, as people write it: `s3://bucket` or `s3://bucket/some/prefix`. */

export interface S3Url {
  bucket: string;
  /** Before every key: empty, or ending with `/`. */
  prefix: string;
}

const bucketPattern = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const prefixPattern = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*$/;

/** The place, or what is wrong with the address. The fault repeats nothing of the address that may be a secret. */
export function readS3Url(url: string): S3Url | { fault: string } {
  const [, bucket, path = ""] = /^s3:\/\/([^/?#@:]+)\/?([^?#]*)$/.exec(url) ?? [];
  if (bucket === undefined) return { fault: "the address must be s3://<bucket>/<prefix>" };
  if (!bucketPattern.test(bucket)) {
    const form = "3 to 63 small letters, digits, dots and hyphens, with a letter or digit at both ends";
    return { fault: `${JSON.stringify(bucket)} is no name of a bucket: ${form}` };
  }
  const prefix = path === "" || path.endsWith("/") ? path : `${path}/`;
  if (prefix.length <= 200 && prefixPattern.test(prefix)) return { bucket, prefix };
  return { fault: "a prefix may have names of letters, digits and ._- with / between them, 200 characters in all" };
}
