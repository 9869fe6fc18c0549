import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";

const author = "A U Thor <author@example.com>";

/**
 * Makes a repository at `dir` with `commits` commits on `main`: merges, lightweight and annotated tags, branches, a symbolic
 * link, a submodule entry and a path that is not UTF-8. The same arguments give the same objects.
 */
export function makeHistory(dir: string, commits: number): void {
  mkdirSync(dir, { recursive: true });
  const git = (args: string[], input?: Buffer) =>
    execFileSync("git", ["-C", dir, ...args], { input, stdio: ["pipe", "pipe", "inherit"], maxBuffer: 1 << 28 });
  git(["init", "--quiet", "--initial-branch=main"]);
  const stream: Buffer[] = [];
  const put = (text: string) => void stream.push(Buffer.from(text));
  const data = (text: string) => put(`data ${Buffer.byteLength(text)}\n${text}\n`);
  const commit = (ref: string, mark: number, message: string, parents: number[]) => {
    put(
      `commit ${ref}\nmark :${mark}\nauthor ${author} ${1_700_000_000 + mark} +0900\ncommitter ${author} ${1_700_000_000 + mark} +0000\n`,
    );
    data(message);
    for (const [i, parent] of parents.entries()) put(`${i === 0 ? "from" : "merge"} :${parent}\n`);
  };
  const file = (path: Buffer | string, content: string, mode = "100644") => {
    put(`M ${mode} inline `);
    stream.push(typeof path === "string" ? Buffer.from(path) : path);
    put("\n");
    data(content);
  };

  commit("refs/heads/main", 1, "First commit\n", []);
  file("README", "hello\n");
  file("bin/run", "#!/bin/sh\n", "100755");
  file("link", "README", "120000");
  put("M 160000 0123456789abcdef0123456789abcdef01234567 vendor/module\n");
  file(Buffer.from("caf\xe9.txt", "latin1"), "a path that is not UTF-8\n");
  let tip = 1;
  for (let mark = 2; mark <= commits; mark++) {
    if (mark % 10 === 0 && mark < commits) {
      commit("refs/heads/side", mark, `Side ${mark}\n`, [tip]);
      file(`side/${mark % 7}.txt`, `side ${mark}\n`);
      mark++;
      commit("refs/heads/main", mark, `Merge ${mark}\n`, [tip, mark - 1]);
      file(`side/${(mark - 1) % 7}.txt`, `side ${mark - 1}\n`);
    } else {
      commit("refs/heads/main", mark, `Change ${mark}\n\nWith a body.\n`, [tip]);
      file(`src/${mark % 50}/file-${mark % 13}.txt`, `content ${mark}\n`.repeat(mark % 20));
    }
    tip = mark;
    if (mark % 100 === 5) put(`reset refs/tags/light-${mark}\nfrom :${mark}\n\n`);
    if (mark % 250 === 3) {
      put(`tag v${mark}\nfrom :${mark}\ntagger ${author} ${1_700_000_000 + mark} +0000\n`);
      data(`Release ${mark}\n`);
    }
  }
  git(["fast-import", "--quiet"], Buffer.concat(stream));
  git(["reset", "--quiet", "--hard", "main"]);
}
