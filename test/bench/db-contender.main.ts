import { createInterface } from "node:readline";
import { type ContenderName, contenders, type DbServers } from "./db-contender.ts";
import { type Load, runLoad } from "./db-load.ts";

// One contender alone in its process, driven by JSON lines on stdin. Ends when stdin does.
const [name = "", servers = ""] = process.argv.slice(2);
const contender = await contenders[name as ContenderName](JSON.parse(servers) as DbServers);
for await (const line of createInterface({ input: process.stdin })) {
  const { id, ...load } = JSON.parse(line) as Load & { id: number };
  const reply = await runLoad(contender, load).then(
    (ok) => ({ id, ok }),
    (error: unknown) => ({ id, error: error instanceof Error ? error.message : String(error) }),
  );
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
await contender[Symbol.asyncDispose]();
