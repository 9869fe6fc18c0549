import { createInterface } from "node:readline";
import { type AgentRequest, GossipAgent } from "./gossip-agent.ts";

// Members of ours driven by JSON lines on stdin, as the Go agent in test/interop/memberlist-agent is. Ends when stdin does.
const write = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
const agent = new GossipAgent(write);
const answer = async (text: string) => {
  const request = JSON.parse(text) as AgentRequest;
  try {
    write({ id: request.id, ok: await agent.handle(request) });
  } catch (error) {
    write({ id: request.id, error: error instanceof Error ? error.message : String(error) });
  }
};
const lines = createInterface({ input: process.stdin });
lines.on("line", (text) => void answer(text));
lines.on("close", () => void agent[Symbol.asyncDispose]());
