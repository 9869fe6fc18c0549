// Starts a spawn helper with one child, says so, and waits to be killed. Arguments: the helper's file, and where its sockets go.

import { tmpdir } from "node:os";
import { HelperSpawner } from "../../src/git/helper-spawner.ts";
import { silentLogger } from "../../src/observability/index.ts";

const spawner = new HelperSpawner({ entryPath: process.argv[2] ?? "", dir: process.argv[3] ?? tmpdir() }, { logger: silentLogger });
const env = { PATH: process.env["PATH"] ?? "" };
const child = await spawner.spawn({ file: "sh", args: ["-c", 'echo "$PPID $$"; exec sleep 1000'], env, cwd: "/" });
child.stdout.pipe(process.stdout);
setInterval(() => {}, 1000);
