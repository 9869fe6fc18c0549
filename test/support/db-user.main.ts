import { createLoadBalancer, createLoadBalancers } from "../../src/db/index.ts";

// A program that uses a load balancer, closes it and does nothing else: it ends by itself where nothing is left behind.
// Arguments: how it ends, and the options as JSON.

const [how, text = "{}"] = process.argv.slice(2);
const options = JSON.parse(text);

if (how === "a start that fails") {
  await createLoadBalancers({ main: options, ci: { ...options, replicas: ["not a server"] } }).catch(({ code }) =>
    process.stdout.write(`${code}\n`),
  );
} else {
  const lb = await createLoadBalancer(options);
  await lb.query("SELECT 1");
  await lb.session({ stick: [["user", 1]] }, async () => {
    await lb.query("INSERT INTO t VALUES (1)");
    await lb.transaction((tx) => tx.query("SELECT id FROM t"));
  });
  // Nobody waits for these any more: one that the server is busy with, and one that is on its way to a server that says nothing.
  const aborted = AbortSignal.timeout(100);
  const given = [
    lb.usePrimary(() => lb.query("SELECT pg_sleep(60)", [], { signal: aborted })),
    lb.query("SELECT pg_sleep(60)", [], { signal: aborted }),
  ];
  await Promise.allSettled(given);
  const hanging = how === "destroy" ? lb.query("SELECT pg_sleep(60)").catch(() => {}) : undefined;
  await (how === "destroy" ? lb.destroy() : lb.close());
  await hanging;
  process.stdout.write("closed\n");
}
