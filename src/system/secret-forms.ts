/** Recognizes secrets that are not declared as such (E8): by the name before the value, or by the form of the value. */

/** Names of options, variables, headers and parameters whose values are secrets. */
export const secretName = /key|token|secret|passw|auth|credential|cookie|signature/i;

const forms: readonly [RegExp, string][] = [
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, "$1 ***"],
  [/\baptove_[\w-]{8,}/g, "aptove_***"],
  [/\b(?:sk|pk|rk|ghp|gho|github_pat|xox[abp]|glpat)[-_][\w-]{12,}/g, "***"],
  [/\b(?:AIza[\w-]{30,}|AKIA[A-Z0-9]{12,})/g, "***"],
  [/([a-z][a-z0-9+.-]*:\/\/[^\s:/@"']*:)[^\s/@"']+@/gi, "$1***@"],
  [/([?&](?:[\w-]*(?:key|token|secret|passw|signature)[\w-]*)=)[^&\s"']+/gi, "$1***"],
];

/** Returns the text with `***` in place of bearer tokens, keys of aptove and of common providers, and passwords in addresses. */
export function hideSecretForms(text: string): string {
  return forms.reduce((rest, [form, instead]) => rest.replace(form, instead), text);
}
