import assert from "node:assert/strict";
import { test } from "node:test";
import { frontMatterOf } from "./front-matter.ts";
import { sha256 } from "./ids.ts";
import { limits } from "./limits.ts";
import { chooseSkills, skillLine, type ChosenSkills, type SkillFile } from "./skill.ts";

function skill(name: string, front: string, body = "Do it.\n"): SkillFile {
  return { path: `.agents/skills/${name}/SKILL.md`, text: `---\n${front}\n---\n${body}` };
}

function chosen(...repository: SkillFile[]): ChosenSkills {
  return chooseSkills({ repository, workspace: [] });
}

function descriptionOf(front: string): string | undefined {
  return chosen(skill("pdf", `name: pdf\n${front}`)).skills[0]?.description;
}

test("[M4] the name and the description are read from front matter as people write it", () => {
  assert.equal(descriptionOf("description: Reads PDF files."), "Reads PDF files.");
  assert.equal(descriptionOf("description: Use when: a PDF is named"), "Use when: a PDF is named");
  assert.equal(descriptionOf("description: Reads # a comment"), "Reads");
  assert.equal(descriptionOf(`description: "Says \\"hi\\": # \\u00e9" # more`), 'Says "hi": # é');
  assert.equal(descriptionOf("description: 'It''s one'"), "It's one");
  assert.equal(descriptionOf("description: >-\n  Two\n  lines.\n\n  More."), "Two lines. More.");
  assert.equal(descriptionOf("description: |\n  Two\n  lines.\nlicense: MIT"), "Two lines.");
  assert.equal(descriptionOf("description:\n  Below\n  it."), "Below it.");
  assert.equal(descriptionOf("metadata:\n  description: inner\ndescription: outer"), "outer");
  assert.equal(descriptionOf("description: Long " + "x".repeat(3_000))?.length, limits.skillDescriptionCharactersMax);
  const [plain] = chosen({ path: "a/SKILL.md", text: "\uFEFF---\r\ndescription: D\r\n---\r\nBody\r\n" }).skills;
  assert.deepEqual([plain?.name, plain?.description, plain?.text], ["a", "D", "---\ndescription: D\n---\nBody\n"]);
});

test("[M4] a broken SKILL.md is not offered, and the reason says what is wrong with it", () => {
  const reasonOf = (file: SkillFile): string | undefined => {
    const { skills, unused } = chosen(file);
    assert.deepEqual(skills, []);
    return unused[0]?.reason;
  };
  const path = ".agents/skills/x/SKILL.md";
  assert.match(reasonOf({ path, text: "# No front matter" }) ?? "", /does not begin with front matter/);
  assert.match(reasonOf({ path, text: "---\nname: x\ndescription: never ends" }) ?? "", /front matter/);
  assert.match(reasonOf(skill("x", "name: x")) ?? "", /no description/);
  assert.match(reasonOf(skill("x", "name: x\ndescription: [a, b]")) ?? "", /no description/);
  assert.match(reasonOf(skill("x", "name: x\ndescription:\n  - a\n  - b")) ?? "", /no description/);
  assert.match(reasonOf(skill("x", "name: two words\ndescription: d")) ?? "", /its name is not/);
  assert.match(reasonOf(skill("x", `name: ${"n".repeat(65)}\ndescription: d`)) ?? "", /its name is not/);
  assert.match(reasonOf({ path, text: null, fault: "it is a link to nothing" }) ?? "", /a link to nothing/);
  assert.match(reasonOf({ path, text: "---\nname: a\0b\n---" }) ?? "", /not text/);
  const quiet = chosen(skill("x", "name: x\ndescription: d\ndisable-model-invocation: true")).unused[0];
  assert.deepEqual([quiet?.isMeant, quiet?.reason], [true, "its front matter says disable-model-invocation"]);
});

test("[M4] of two skills with one name the workspace's counts, then the first one; copies are not warned of", () => {
  const own = { path: "skills/pdf/SKILL.md", text: "---\nname: pdf\ndescription: mine\n---\n" };
  const near = skill("pdf", "name: pdf\ndescription: near");
  const far = { ...skill("pdf", "name: pdf\ndescription: far"), path: ".claude/skills/pdf/SKILL.md" };
  const copy = { ...near, path: ".codex/skills/pdf/SKILL.md" };
  const all = chooseSkills({ repository: [near, far, copy], workspace: [own] });
  assert.deepEqual(
    all.skills.map(({ path, source, contentHash }) => [path, source, contentHash]),
    [["skills/pdf/SKILL.md", "workspace", sha256(own.text)]],
  );
  const { skills, unused } = chosen(near, far, copy);
  assert.deepEqual(
    skills.map(({ path }) => path),
    [near.path],
  );
  assert.deepEqual(
    unused.map(({ path, isMeant }) => [path, isMeant]),
    [
      [far.path, false],
      [copy.path, true],
    ],
  );
  assert.match(unused[0]?.reason ?? "", /\.agents\/skills\/pdf\/SKILL\.md has the same name and counts/);
});

test("[M4] what is offered is bounded: the number, the list, and one file", () => {
  const many = Array.from({ length: 70 }, (_, at) => skill(`s${at}`, `name: s${at}\ndescription: d`));
  const most = chosen(...many);
  assert.deepEqual([most.skills.length, most.unused.length], [limits.skillsMax, 6]);
  const wordy = Array.from({ length: 40 }, (_, at) => skill(`s${at}`, `name: s${at}\ndescription: ${"d".repeat(900)}`));
  const listed = chosen(...wordy)
    .skills.map(skillLine)
    .join("\n");
  assert.equal(listed.length <= limits.skillsListCharactersMax && listed.length > 15_000, true);
  const [long] = chosen(skill("long", "description: d", "ä\n".repeat(limits.skillFileBytesMax))).skills;
  assert.equal(long?.isCut, true);
  assert.match(long?.text ?? "", /ä\n\[… the rest of this file is left out …\]\n$/);
});

test("[M4] text that is made to be slow or to break out is read at once, on one line", () => {
  const began = performance.now();
  const spaces = " ".repeat(60_000);
  for (const front of [
    `description: a${spaces}b`,
    `description: >\n  a${spaces}\n  b`,
    `description: "${"\\".repeat(60_000)}`,
  ])
    frontMatterOf(`---\n${front}\n---\n`);
  frontMatterOf(`---\n${"a: b #\n".repeat(9_000)}---\n`);
  assert.equal(performance.now() - began < 1_000, true);
  assert.equal(descriptionOf(`description: "one\\n\`\`\`\\u2028[INSTRUCTION]"`), "one ``` [INSTRUCTION]");
  assert.equal(descriptionOf("description: !!js/function 'x'"), undefined);
});
