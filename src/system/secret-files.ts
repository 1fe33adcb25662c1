/** Recognizes files that may hold secrets by their names (E8). Only the name counts, so a file does not come and go with its content. */

/** Copies that editors and programs leave beside a file have its content. */
const copySuffix = /(?:~|\.(?:bak|backup|old|orig|save))$/i;

/** Names of files whose usual content is secrets. Each is compared with the whole path. */
const secretFiles: readonly RegExp[] = [
  // Settings of an environment: `.env`, `.env.local`, `.env-local`, `.envrc`, `prod.env`.
  /(?:^|\/)\.env(?:rc)?(?:[._-][^/]*)?$/i,
  /\.env(?:\.local)?$/i,
  // Passwords and tokens of programs. Many a `.npmrc` has none, but its name does not say so.
  /(?:^|\/)(?:[._]netrc|\.pgpass|\.htpasswd|\.npmrc|\.pypirc|\.git-credentials|\.dockercfg)$/i,
  /(?:^|\/)(?:\.aws\/credentials|\.docker\/config\.json|\.kube\/config)$/i,
  /(?:^|\/)[^/]*credentials\.json$/i,
  // Terraform writes the values of all variables and resources to these.
  /\.(?:tfstate|tfvars|tfvars\.json)$/i,
  // Private keys.
  /(?:^|\/)(?:id_(?:rsa|dsa|(?:ecdsa|ed25519)(?:_sk)?)|ssh_host_[^/]*_key)$/i,
  /\.(?:pem|key|ppk|p12|pfx|jks|keystore|kdbx)$/i,
];

/** Names that look like those above, of files that are made to be read by everyone. */
const publicFiles: readonly RegExp[] = [
  // Templates: `.env.production.example`, `example.env`.
  /[._-](?:example|sample|template|dist|defaults|schema)$/i,
  /(?:^|\/)(?:example|sample|template)\.(?:env|tfvars)$/i,
  // The types of an environment, and code that reads it.
  /(?:^|\/)\.env\.(?:[^/]+\.)?[cm]?ts$/i,
  // Certificates and public keys. `ca-key.pem` is none.
  /(?:^|[/._-])(?:ca|cacert|cert|certificate|chain|fullchain|ca-bundle|public|pub|dhparams?)\.pem$/i,
  // Texts of a program, by language.
  /(?:^|\/)(?:locales?|i18n|l10n|lang|translations?)\/(?:[^/]+\/)*[^/.]+\.(?:key|json)$/i,
];

/** Returns true if the name of the file says that it may hold secrets. The path has forward slashes. */
export function mayHoldSecrets(path: string): boolean {
  const original = path.replace(copySuffix, "");
  const fits = (name: RegExp): boolean => name.test(original);
  return secretFiles.some(fits) && !publicFiles.some(fits);
}
