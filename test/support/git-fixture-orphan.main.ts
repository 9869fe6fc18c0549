// Starts a spawn helper with one child, says so, and waits to be killed.

import { HelperSpawner } from "../../src/git/helper-spawner.ts";
import { silentLogger } from "../../src/observability/index.ts";

const spawner = new HelperSpawner({ entryPath: process.argv[2] ?? "" }, { logger: silentLogger });
const env = { PATH: process.env["PATH"] ?? "" };
const child = await spawner.spawn({ file: "sh", args: ["-c", 'echo "$PPID $$"; exec sleep 1000'], env, cwd: "/" });
child.stdout.pipe(process.stdout);
setInterval(() => {}, 1000);
