// A process of its own, with little memory, that forks and reaps git children for a node. Its one argument is the socket to listen on.
import { rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { dirname } from "node:path";
import { ChildRun } from "./child-run.ts";
import type { HelperReport, HelperRequest } from "./spawner-protocol.ts";

const socketPath = process.argv[2] ?? "";
const runs = new Map<number, ChildRun>();
const sockets: Socket[] = [];
const spawns: Extract<HelperRequest, { type: "spawn" }>[] = [];

function tell(report: HelperReport): void {
  if (process.connected) process.send?.(report, undefined, undefined, () => {});
}

/** Connections and spawn requests come by two ways, each in order: the n-th pair of one belongs to the n-th of the other. */
function startPairs(): void {
  for (;;) {
    const [stdin, stdout] = sockets;
    const [spawn] = spawns;
    if (!stdin || !stdout || !spawn) return;
    sockets.splice(0, 2);
    spawns.shift();
    start(stdin, stdout, spawn);
  }
}

function start(stdin: Socket, stdout: Socket, { id, request, wantsStderr }: Extract<HelperRequest, { type: "spawn" }>): void {
  try {
    const run = new ChildRun(request, [stdin, stdout, "pipe"], {
      onStderr: (chunk) => wantsStderr && tell({ type: "stderr", id, chunk: chunk.toString("latin1") }),
      onExit: (exit) => {
        runs.delete(id);
        exitWhenDone();
        tell({ type: "exited", id, exit });
      },
    });
    if (run.process.pid !== undefined) {
      runs.set(id, run);
      tell({ type: "started", id, pid: run.process.pid });
    }
  } catch (error) {
    const problem = (error as NodeJS.ErrnoException).code ?? "spawn failed";
    tell({ type: "exited", id, exit: { code: undefined, signal: undefined, stderr: "", problem } });
  } finally {
    // The child has its own copies; these would keep the streams open after its end.
    stdin.destroy();
    stdout.destroy();
  }
}

const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => {
  socket.on("error", () => {});
  sockets.push(socket);
  startPairs();
});

process.on("message", (message: HelperRequest) => {
  if (message.type === "end") runs.get(message.id)?.end(message.stage);
  else {
    spawns.push(message);
    startPairs();
  }
});

/** Stays until the last child is reaped, so that none is left to whoever adopts orphans. */
function exitWhenDone(): void {
  if (!process.connected && runs.size === 0) process.exit(0);
}

// The node is gone, whatever way: nothing may outlive it.
process.on("disconnect", () => {
  for (const run of runs.values()) run.end("kill");
  rmSync(dirname(socketPath), { recursive: true, force: true });
  exitWhenDone();
});

server.listen({ path: socketPath, backlog: 511 }, () => tell({ type: "ready" }));
